// Talking to the server: requests, and the stream of events with its
// reconnecting.

import { call, root } from "./login.js";
import { t } from "./strings.js";

const base = root + "api/chat/";

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
  const res = await call(url, { method, headers, body });
  if (res.ok) return res.status === 204 ? null : res.json();
  const why = await res.json().then((j) => j.error, () => stranger(res.status));
  if (res.status < 500 && res.status !== 429 && res.status !== 408) throw new Refused(why);
  throw new Error(why);
}

// object fetches a file and answers an address of it that is good in this page,
// until it is given back: what the browser asks for by itself, for a picture or
// a link, has only half of the login with it.
export async function object(id) {
  const res = await call(fileURL(id));
  if (!res.ok) throw new Refused(stranger(res.status));
  return URL.createObjectURL(await res.blob());
}

// stranger words an answer that is not the bot's: a proxy stands between.
const stranger = (status) =>
  status === 413 ? t("proxyTooLarge") : t(status > 501 && status < 505 ? "proxyAlone" : "proxyRefuses", { status });

export const get = (url) => request("GET", url);
export const post = (url, value) => request("POST", url, JSON.stringify(value), "application/json");

export const limits = () => get(base + "chats").then((r) => r.limits);

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

  async open() {
    this.shut();
    const source = (this.source = new AbortController());
    this.alive();
    const headers = { Accept: "text/event-stream" };
    if (this.after) headers["Last-Event-ID"] = this.after;
    try {
      const res = await call(chatURL(this.chat, "/events"), { headers, signal: source.signal, cache: "no-store" });
      if (res.ok) await events(res.body, (e) => source === this.source && this.take(e));
    } catch {
      // It is lost, whatever the reason.
    }
    if (source === this.source) this.lost();
  }

  take(e) {
    this.alive();
    if (e.id) this.after = e.id;
    if (e.event === "reset") this.after = "";
    if (e.event === "sync") {
      this.wait = 500;
      this.on.state(true);
    }
    this.on[e.event]?.(JSON.parse(e.data));
  }

  alive() {
    clearTimeout(this.dead);
    this.dead = setTimeout(() => this.lost(), silence);
  }

  lost() {
    this.shut();
    this.on.state(false);
    this.retry = setTimeout(() => this.open(), this.wait * (0.75 + Math.random() / 2));
    this.wait = Math.min(this.wait * 2, 10_000);
  }

  visibility() {
    clearTimeout(this.sleep);
    if (document.hidden) this.sleep = setTimeout(() => this.shut(), hiddenFor);
    else if (!this.source) this.open();
  }

  shut() {
    clearTimeout(this.dead);
    clearTimeout(this.retry);
    this.source?.abort();
    this.source = null;
  }

  close() {
    document.removeEventListener("visibilitychange", this.seen);
    clearTimeout(this.sleep);
    this.shut();
  }
}

// events reads a stream of server-sent events, as the server writes them. An
// EventSource cannot send the key of the login.
async function events(body, take) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let e = {}; ; ) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const at = line.indexOf(": ");
      if (at > 0) e[line.slice(0, at)] = line.slice(at + 2);
      if (line) continue;
      try {
        take(e);
      } catch (err) {
        reportError(err); // the next event may be shown all the same
      }
      e = {};
    }
  }
}
