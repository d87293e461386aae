// What the actions of the audit trail are called, in words. A test holds this table
// against what the hub writes (test/docs), so every line has this one form.
const words: Record<string, string> = {
  'approval.asked': 'Approval asked for',
  'approval.resolved': 'Approval answered',
  'audit.dropped': 'Entries of this trail lost',
  'auth.accepted': 'Connected to the board',
  'auth.expired': 'Signed out: the sign-in had expired',
  'auth.locked': 'Address locked after failed sign-ins',
  'auth.refused': 'Sign-in refused',
  'auth.replaced': 'Connection replaced by a newer one',
  'auth.revoked': 'Signed out: the token was revoked',
  'board.misuse': 'Misuse of the board',
  'budget.exceeded': 'Budget used up',
  'budget.extended': 'Budget extended',
  'budget.warned': 'Budget nearly used up',
  'device.paired': 'Device paired',
  'device.revoked': 'Device removed',
  'extension.adopted': 'Extension taken on, not active',
  'extension.disabled': 'Extension switched off',
  'extension.evaluating': 'Extension being examined',
  'extension.pending': 'Extension received',
  'extension.pending_promotion': 'Extension waits for a person',
  'extension.promoted': 'Extension made active',
  'extension.rejected': 'Extension rejected',
  'fleet.binary.added': 'Program for machines added',
  'fleet.call': 'Tool used on a machine',
  'fleet.call.intent': 'Tool about to be used on a machine',
  'fleet.enrolled': 'Machine enrolled',
  'fleet.foreign_frame': 'Machine spoke for another one',
  'fleet.legacy.minted': 'Old-style enrolment token made',
  'fleet.link.created': 'Enrolment link made',
  'fleet.link.opened': 'Enrolment link opened',
  'fleet.machine.created': 'Machine added',
  'fleet.machine.edited': 'Machine edited',
  'fleet.machine.removed': 'Machine removed',
  'fleet.rekey': 'Machine enrolled again with a new key',
  'fleet.rekeyed': 'Machine connected with its new key',
  'fleet.rollout.cancelled': 'Roll-out cancelled',
  'fleet.rollout.done': 'Roll-out done',
  'fleet.rollout.paused': 'Roll-out paused',
  'fleet.rollout.running': 'Roll-out goes on',
  'fleet.rollout.started': 'Roll-out started',
  'fleet.rollout.stopped': 'Roll-out stopped',
  'fleet.rule.added': 'Rule for machines added',
  'fleet.rule.removed': 'Rule for machines removed',
  'fleet.screenshot.removed': 'Screenshot removed',
  'fleet.token.minted': 'Enrolment token made',
  'link.created': 'Sign-in link made',
  'mcp.call': 'Tool used over MCP',
  'negotiation.agreed': 'Negotiation agreed',
  'origin.refused': 'Another website refused',
  'page.closed': 'Browser signed out',
  'page.opened': 'Browser signed in',
  'passkey.added': 'Passkey added',
  'passkey.removed': 'Passkey removed',
  'person.added': 'Person added',
  'person.revoked': 'Person shut out',
  'place.audit_digest': 'Hour of the meeting place’s audit sealed',
  'place.key_changed': 'Agent’s key changed',
  'place.key_registered': 'Agent’s key registered',
  'place.peer_added': 'Other place added',
  'place.peer_refused': 'Other place refused',
  'place.peer_removed': 'Other place removed',
  'place.pin_released': 'Agent’s key released',
  'place.refused': 'Agent refused at the meeting place',
  'place.salt_renewed': 'Ids in the meeting place’s audit renewed',
  'place.tokens_revoked': 'Agent’s sessions ended',
  'place.trusted': 'Agent’s key trusted',
  'place.untrusted': 'Agent’s key no longer trusted',
  'room.acted': 'Action asked of a room’s app',
  'room.admitted': 'Admitted to a room',
  'room.banned': 'Barred from a room',
  'room.blocked': 'Message blocked in a room',
  'room.closed': 'Room closed',
  'room.credit': 'Credit accepted in a room',
  'room.expired': 'Rights in a room expired',
  'room.granted': 'Rights in a room changed',
  'room.host': 'Became host of a room',
  'room.joined': 'Joined a room',
  'room.kicked': 'Put out of a room',
  'room.left': 'Left a room',
  'room.lobby': 'Waiting room',
  'room.locked': 'Room locked',
  'room.opened': 'Room opened',
  'room.policy': 'Room’s policy changed',
  'room.publisher': 'Publishers of a room changed',
  'room.reaped': 'Out of a room: credit lapsed',
  'room.refused': 'Refused at a room’s door',
  'room.reset': 'Room reset',
  'room.schema': 'Schema published in a room',
  'room.unbanned': 'Let back into a room',
  'room.unlocked': 'Room unlocked',
  'room.withheld': 'Messages withheld in a room',
  'skill.approved': 'Skill approved',
  'skill.published': 'Skill published',
  'skill.quarantined': 'Skill received, not in use',
  'skill.rejected': 'Skill rejected',
  'skill.replaced': 'Skill replaced by a newer version',
  'skill.revoked': 'Skill taken out of use',
  'talk.compacted': 'Conversation summarised',
  'talk.deleted': 'Conversation deleted',
  'talk.exported': 'Conversation exported',
  'talk.imported': 'Conversation imported',
  'talk.killed': 'Answer stopped',
  'talk.resummarised': 'Archive summarised again',
  'talk.run': 'Answer of an agent',
  'talk.scheduled': 'Schedule added for an agent',
  'talk.tool': 'Tool used in a conversation',
  'talk.unscheduled': 'Schedule of an agent removed',
  'task.ended': 'Task ended',
  'task.message': 'Task corrected by a message',
  'task.submitted': 'Task started',
  'task.tool': 'Tool used in a task',
  'terminal.attached': 'Terminal watched',
  'terminal.closed': 'Terminal closed',
  'terminal.created': 'Terminal opened',
  'terminal.exited': 'Terminal’s program ended',
  'terminal.input': 'Typed into a terminal',
  'token.created': 'Token made',
  'token.revoked': 'Token revoked',
  'token.rotated': 'Token renewed',
  'visit.began': 'Visit to another place began',
  'visit.ended': 'Visit to another place ended',
  'visit.place_accepted': 'Other place’s new key accepted',
  'visit.place_changed': 'Other place answered with another key',
  'visit.warned': 'Visit to another place about to end',
};

/** What an action is called; '' for one that is not known here, which a newer hub may have written. */
export function actionName(action: string): string {
  return Object.hasOwn(words, action) ? words[action]! : '';
}

/** Actions whose name has a text in it. */
export function actionsNamed(text: string): string[] {
  const part = text.trim().toLowerCase();
  return part ? actionNames.filter(([, name]) => name.toLowerCase().includes(part)).map(([action]) => action) : [];
}

/**
 * What to ask the hub for when somebody looks for a text: the beginning of a code as it
 * is, else the code of the one action, or of the family of actions, with such a name.
 */
export function actionCode(text: string): string {
  const found = actionsNamed(text);
  if (!found.length || Object.keys(words).some((action) => action.startsWith(text.trim()))) return text.trim();
  let common = found[0]!;
  for (const action of found) while (!action.startsWith(common)) common = common.slice(0, -1);
  return found.length === 1 ? common : common.slice(0, common.lastIndexOf('.') + 1) || text.trim();
}

/** Every action with its name, by name. */
export const actionNames: [action: string, name: string][] = Object.entries(words).sort((a, b) => a[1].localeCompare(b[1]));
