// Parley's room SDK for JavaScript. The hub serves it as /sdk/roomagent.js:
//
//   import { connectRoom, createAgent, cooldown } from 'https://hub.example.org/sdk/roomagent.js';
//   const room = connectRoom('https://hub.example.org/r/table', { name: 'Notes', key });
//   const agent = createAgent(room, { readOnly: true, backend: 'Claude' });
//   agent.onView((view) => …);

export { createAgent, createAgentFromBridge, cooldown } from './agent';
export type { AgentOptions, Bridge, ChatLine, Controller, Denied, Grant, Participant, Schema } from './agent';
export { connectRoom, Refused, RoomConnection } from './connect';
export type { ChatEntry, ConnectOptions, Content, Memory, State } from './connect';
export { channelFingerprint, newKey, roomId, thumbprint } from './codec';
export { connectMesh, lanes, Mesh, newCertificate } from './mesh';
export type { Lane, MeshOptions } from './mesh';
