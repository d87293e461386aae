// Who is signed in. The page has no state of its own about that beyond what
// the hub last said.

import { api, asProblem, Problem } from './api';
import { deviceName } from './device';
import { forgetFiles } from './drafts';
import * as passkey from './passkey';
import type { Session } from './types';

type State = 'starting' | 'out' | 'in' | 'unreachable';

class SessionStore {
  state = $state<State>('starting');
  current = $state<Session | null>(null);
  /** Why the last attempt to sign in failed, if it did. */
  problem = $state<Problem | null>(null);

  constructor() {
    api.onSignedOut(() => this.#leave());
  }

  get name(): string {
    return this.current?.principal.name ?? '';
  }

  /** Whether the signed-in person may do something that needs the scope. */
  can(scope: string): boolean {
    return allows(this.current?.scopes ?? [], scope);
  }

  async start(): Promise<void> {
    window.addEventListener('hashchange', () => void this.#useLink());
    if (await this.#useLink()) return;
    await this.check();
  }

  /** Asks the hub who we are. */
  async check(): Promise<void> {
    try {
      this.#enter(await api.session());
    } catch (error) {
      const problem = asProblem(error);
      if (problem.status === 401) this.#leave();
      else if (this.state !== 'in') {
        this.problem = problem;
        this.state = 'unreachable';
      }
    }
  }

  signIn(proof: Parameters<typeof api.signIn>[0]): Promise<boolean> {
    return this.#try(() => api.signIn(proof));
  }

  signInByPasskey(): Promise<boolean> {
    return this.#try(async () => {
      const proof = await passkey.use(await api.beginPasskeySignIn());
      try {
        return await api.signIn({ passkey: proof, name: deviceName() });
      } catch (error) {
        const problem = asProblem(error);
        if (problem.status !== 401) throw problem;
        throw new Problem(401, 'passkey', 'Passkey refused', 'This hub does not know this passkey, or it was removed. Sign in another way and add it again under Settings, Devices.');
      }
    });
  }

  async #try(run: () => Promise<Session>): Promise<boolean> {
    this.problem = null;
    try {
      this.#enter(await run());
      return true;
    } catch (error) {
      this.problem = asProblem(error);
      if (this.state !== 'in') this.state = 'out';
      return false;
    }
  }

  async signOut(): Promise<void> {
    try {
      forgetFiles();
      await api.signOut();
    } finally {
      this.#leave();
    }
  }

  // A login link carries its secret in the fragment, which browsers never send.
  // It leaves the address before anything else happens, so that it is neither
  // bookmarked nor shown.
  async #useLink(): Promise<boolean> {
    const match = /^#login=([^&]+)$/.exec(location.hash);
    if (!match?.[1]) return false;
    history.replaceState(history.state, '', location.pathname + location.search);
    return this.signIn({ login: decodeURIComponent(match[1]), name: deviceName() });
  }

  #enter(session: Session): void {
    this.current = session;
    this.problem = null;
    this.state = 'in';
  }

  #leave(): void {
    this.current = null;
    this.state = 'out';
  }
}

/** Whether the granted scopes, which the hub writes out one by one, cover one. */
export function allows(granted: string[], scope: string): boolean {
  return granted.includes(scope) || granted.includes('admin');
}

export const session = new SessionStore();
