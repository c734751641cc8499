// The one WebSocket of this tab. Events say what changed: `live-table.ts` turns each into the queries that are stale.
// Messages without an id (`wallet`, `why`, `slices`, `log`) go to whoever listens for them.

import { api, ask } from "./client";
import { SignedOut } from "./errors";
import type { components } from "./events";
import { freshToken, isSignedIn, onSessionChange } from "./session";

export type Messages = components["schemas"];
export type FromHub = Messages["FromHub"];
export type PoolEvent = Messages["PoolEvent"];
type Kind = FromHub["type"];
export type OfKind<K extends Kind> = Extract<FromHub, { type: K }>;
type FromReader = Messages["FromReader"] & { type: string };

export type Connection = "idle" | "connecting" | "open" | "away";
const PROTOCOL = "computepool.v1";
const FIRST_WAIT_MS = 400;
const LONGEST_WAIT_MS = 10_000;

/** A socket that comes back by itself. `path`: below /api/v1. */
class Line {
  state: Connection = "idle";
  private socket: WebSocket | null = null;
  private wait = FIRST_WAIT_MS;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private wanted = false;
  private last: string | null = null;

  constructor(
    private readonly path: string,
    private readonly asUser: boolean,
    private readonly hear: (message: FromHub) => void,
    private readonly changed: (state: Connection, before: Connection) => void,
  ) {}

  open(): void {
    if (this.wanted) return;
    this.wanted = true;
    this.last = null;
    void this.connect();
  }

  close(): void {
    this.wanted = false;
    clearTimeout(this.timer);
    const socket = this.socket;
    this.socket = null;
    // A browser warns of a socket that is closed before it was open.
    if (socket?.readyState === WebSocket.CONNECTING) socket.onopen = () => socket.close();
    else socket?.close();
    this.become("idle");
  }

  send(message: object): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  /** At once, where it waits for its next try. */
  hurry(): void {
    if (!this.wanted || this.socket) return;
    clearTimeout(this.timer);
    void this.connect();
  }

  private become(state: Connection): void {
    const before = this.state;
    this.state = state;
    if (before !== state) this.changed(state, before);
  }

  private async connect(): Promise<void> {
    if (this.state !== "away") this.become("connecting");
    let token: string | null = null;
    try {
      if (this.asUser) token = await freshToken();
    } catch (error) {
      if (error instanceof SignedOut) this.close();
      else this.retry();
      return;
    }
    if (!this.wanted || this.socket) return;
    const address = new URL(`/api/v1/${this.path}`, location.href);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    if (this.last && this.asUser) address.searchParams.set("after", this.last);
    const socket = new WebSocket(address, token ? [PROTOCOL, `bearer.${token}`] : [PROTOCOL]);
    this.socket = socket;
    let opened = false;
    socket.onmessage = ({ data }: MessageEvent<string>) => {
      if (this.socket !== socket) return;
      const message = JSON.parse(data) as FromHub;
      if (!opened) {
        opened = true;
        this.wait = FIRST_WAIT_MS;
        this.become("open");
      }
      if ("id" in message && message.id) this.last = message.id;
      this.hear(message);
    };
    socket.onclose = () => {
      if (this.socket !== socket) return;
      this.socket = null;
      if (!this.wanted) return;
      this.become("away");
      // A browser does not say why a socket was refused. An ordinary request does, and renews the token if it must.
      if (!opened && this.asUser)
        void ask(api.GET("/api/v1/me"))
          .catch(() => undefined)
          .finally(() => this.retry());
      else this.retry();
    };
  }

  private retry(): void {
    if (!this.wanted) return;
    this.become("away");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.connect(), this.wait * (0.75 + Math.random() / 2));
    this.wait = Math.min(LONGEST_WAIT_MS, this.wait * 2);
  }
}

type Listener = (message: FromHub) => void;
const listeners = new Map<Kind, Set<Listener>>();
const stateListeners = new Set<() => void>();
/** What this tab has asked for over its socket, to be asked again after it was away. */
const subscriptions = new Map<string, FromReader>();
const restarts = new Set<() => void>();
/** Who listens to the public stream. */
let listening = 0;

const taps = new Set<Listener>();

const hear = (message: FromHub) => {
  for (const tap of taps) tap(message);
  for (const listener of listeners.get(message.type) ?? []) listener(message);
};
const own = new Line("events", true, hear, (state, before) => {
  if (state === "open") {
    for (const message of subscriptions.values()) own.send(message);
    if (before === "away") for (const restart of restarts) restart();
  }
  for (const listener of stateListeners) listener();
});
const pool = new Line("public/events?map=true", false, hear, (state, before) => {
  if (state === "open" && before === "away" && !isSignedIn()) for (const restart of restarts) restart();
  for (const listener of stateListeners) listener();
});

export const live = {
  /** Opens the socket while somebody is signed in. Called once. */
  begin(): void {
    const follow = () => (isSignedIn() ? own.open() : own.close());
    onSessionChange(() => {
      own.close();
      follow();
    });
    follow();
    const hurry = () => {
      if (document.visibilityState === "hidden") return;
      own.hurry();
      pool.hurry();
    };
    addEventListener("online", hurry);
    document.addEventListener("visibilitychange", hurry);
  },

  /** Every message of one kind. Returns what ends it. `public` and `map` open the public stream while somebody listens. */
  on<K extends Kind>(kind: K, listener: (message: OfKind<K>) => void): () => void {
    const all = listeners.get(kind) ?? new Set();
    listeners.set(kind, all.add(listener as Listener));
    const isPublic = kind === "public" || kind === "map";
    if (isPublic) {
      listening += 1;
      pool.open();
    }
    return () => {
      all.delete(listener as Listener);
      if (isPublic && --listening === 0) pool.close();
    };
  },

  /** Every message that comes, without asking for any. Returns what ends it. */
  tap(listener: Listener): () => void {
    taps.add(listener);
    return () => void taps.delete(listener);
  },

  /** Sends a request such as `watch` or `follow_log`, again after every reconnect. Returns what ends it. */
  subscribe(key: string, begin: FromReader, end: FromReader): () => void {
    subscriptions.set(key, begin);
    own.send(begin);
    return () => {
      if (subscriptions.get(key) !== begin) return;
      subscriptions.delete(key);
      own.send(end);
    };
  },

  /** After the hub was away: what is shown may be old. */
  onRestart(listener: () => void): () => void {
    restarts.add(listener);
    return () => void restarts.delete(listener);
  },

  /** As the user notices it: away when a socket that should be open is not. */
  state: (): Connection => (own.state !== "idle" ? own.state : pool.state),
  onState(listener: () => void): () => void {
    stateListeners.add(listener);
    return () => void stateListeners.delete(listener);
  },
};
