/** All capabilities in their order, in words. */
export const rights: { id: string; kind: 'perceive' | 'act'; name: string }[] = [
  { id: 'see-screen', kind: 'perceive', name: 'see cameras and screens' },
  { id: 'hear-audio', kind: 'perceive', name: 'hear' },
  { id: 'read-chat', kind: 'perceive', name: 'read what everybody gets' },
  { id: 'read-roster', kind: 'perceive', name: 'see who is here' },
  { id: 'receive-directed', kind: 'perceive', name: 'get what is for it alone' },
  { id: 'send-chat', kind: 'act', name: 'say something' },
  { id: 'speak', kind: 'act', name: 'speak, show a camera or screen' },
  { id: 'act', kind: 'act', name: 'ask the app to do something' },
];
