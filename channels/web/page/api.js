// Talking to the server: requests, and the stream of events with its
// reconnecting.

import { t } from "./strings.js";

// root is the path of the page, below which everything else is found. A proxy
// may show the console under a path of its own, which no other place knows.
export const root = new URL("../", import.meta.url).pathname;
const base = root + "api/chat/";

// stored names what is kept in the browser: other bots may live on the same
// origin, under other paths.
export const stored = (name) => `magpie${root === "/" ? "" : root}.${name}`;

export class Refused extends Error {}

// newID makes ids for messages and conversations. crypto.randomUUID exists on
// secure origins only; a page in a home network is none.
export function newID() {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => b.toString(16).padStart(2, "0")).join("");
}

export const chatURL = (chat, rest = "") => `${base}chats/${encodeURIComponent(chat)}${rest}`;
export const fileURL = (id) => `${base}files/${encodeURIComponent(id)}`;

// request answers the JSON of a call. It throws Refused when trying again is
// useless and another Error when it is not.
export async function request(method, url, body, type) {
  const headers = type ? { "Content-Type": type } : {};
  const res = await fetch(url, { method, headers, body, credentials: "same-origin" });
  if (res.status === 401) {
    location.reload(); // the server shows the login page
    throw new Error("logged out");
  }
  if (res.ok) return res.status === 204 ? null : res.json();
  const why = await res.json().then((j) => j.error, () => stranger(res.status));
  if (res.status < 500 && res.status !== 429 && res.status !== 408) throw new Refused(why);
  throw new Error(why);
}

// stranger words an answer that is not the bot's: a proxy stands between.
const stranger = (status) =>
  status === 413 ? t("proxyTooLarge") : t(status > 501 && status < 505 ? "proxyAlone" : "proxyRefuses", { status });

export const get = (url) => request("GET", url);
export const post = (url, value) => request("POST", url, JSON.stringify(value), "application/json");

export const limits = () => get(base + "chats").then((r) => r.limits);

const kinds = ["message", "gone", "live", "chat", "reset", "sync", "ping"];
const silence = 45_000; // ms without any event, three pings: the connection is dead
const hiddenFor = 60_000; // ms that a hidden tab keeps its connection

// Stream delivers a conversation's events to on[kind](data) and keeps itself
// connected; on.state(up) tells how it goes. It resumes after the last message
// seen.
export class Stream {
  constructor(chat, on) {
    this.chat = chat;
    this.on = on;
    this.after = "";
    this.wait = 500;
    this.seen = () => this.visibility();
    document.addEventListener("visibilitychange", this.seen);
    this.open();
  }

  open() {
    clearTimeout(this.retry);
    this.source?.close();
    const after = this.after ? `?after=${this.after}` : "";
    const source = (this.source = new EventSource(chatURL(this.chat, "/events") + after));
    for (const kind of kinds) {
      source.addEventListener(kind, (e) => {
        if (source !== this.source) return;
        this.alive();
        if (e.lastEventId) this.after = e.lastEventId;
        if (kind === "reset") this.after = "";
        if (kind === "sync") {
          this.wait = 500;
          this.on.state(true);
        }
        this.on[kind]?.(JSON.parse(e.data));
      });
    }
    source.onerror = () => source === this.source && this.lost();
    this.alive();
  }

  alive() {
    clearTimeout(this.dead);
    this.dead = setTimeout(() => this.lost(), silence);
  }

  lost() {
    this.shut();
    this.on.state(false);
    this.retry = setTimeout(() => this.check(), this.wait * (0.75 + Math.random() / 2));
    this.wait = Math.min(this.wait * 2, 10_000);
  }

  // check looks whether the server answers before it opens the stream again:
  // an EventSource does not tell why it failed, and logged out is no reason to
  // try for ever.
  async check() {
    const was = this.retry;
    try {
      await get(base + "chats");
      if (was === this.retry) this.open();
    } catch {
      if (was === this.retry) this.lost();
    }
  }

  visibility() {
    clearTimeout(this.sleep);
    if (document.hidden) this.sleep = setTimeout(() => this.shut(), hiddenFor);
    else if (!this.source) this.open();
  }

  shut() {
    clearTimeout(this.dead);
    clearTimeout(this.retry);
    this.source?.close();
    this.source = null;
  }

  close() {
    document.removeEventListener("visibilitychange", this.seen);
    clearTimeout(this.sleep);
    this.shut();
    this.retry = null;
  }
}
