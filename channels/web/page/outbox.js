// Messages on their way to the server. They are kept in the browser until the
// server has stored them, so that neither a reload nor a lost connection loses
// one; the id stays the same, so that none arrives twice.

import { chatURL, post, Refused } from "./api.js";
import { stored } from "./login.js";

const slot = (chat) => stored("outbox." + chat);

function load(chat) {
  try {
    const list = JSON.parse(localStorage.getItem(slot(chat)));
    return Array.isArray(list) ? list.filter((i) => i.state !== "sent") : [];
  } catch {
    return [];
  }
}

export class Outbox {
  // changed(outbox) is called whenever what waits has changed.
  constructor(chat, lang, changed) {
    this.chat = chat;
    this.lang = lang;
    this.changed = changed;
    this.items = load(chat);
    this.wait = 500;
    this.save();
    this.run();
  }

  add(item) {
    this.items.push({ ...item, at: new Date().toISOString(), state: "sending" });
    this.save();
    this.run();
  }

  // arrived is told every message of the stream: the server has that one.
  arrived(id) {
    this.drop((i) => "i" + i.id === id);
  }

  discard(id) {
    this.drop((i) => i.id === id);
  }

  drop(match) {
    const rest = this.items.filter((i) => !match(i));
    if (rest.length === this.items.length) return;
    this.items = rest;
    this.save();
  }

  save() {
    try {
      if (this.items.length) localStorage.setItem(slot(this.chat), JSON.stringify(this.items));
      else localStorage.removeItem(slot(this.chat));
    } catch {
      // Storage is full or forbidden: the message is still sent from memory.
    }
    this.changed(this);
  }

  set(item, state, why) {
    item.state = state;
    item.why = why;
    this.save();
  }

  // run sends what waits, one after the other and in order.
  async run() {
    if (this.running || this.closed) return;
    this.running = true;
    clearTimeout(this.timer);
    for (let item; !this.closed && (item = this.items.find((i) => i.state !== "refused" && i.state !== "sent")); ) {
      if (!(await this.send(item))) break;
    }
    this.running = false;
  }

  async send(item) {
    try {
      this.set(item, item.state === "waiting" ? "waiting" : "sending");
      await post(chatURL(this.chat, "/messages"), {
        id: item.id, text: item.text, files: item.files.map((f) => f.id), lang: this.lang,
        zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      });
      this.wait = 500;
      this.set(item, "sent"); // the stream brings the message itself
      setTimeout(() => this.discard(item.id), 5000);
      return true;
    } catch (err) {
      if (err instanceof Refused) {
        this.set(item, "refused", err.message);
        return true;
      }
      this.set(item, "waiting");
      this.timer = setTimeout(() => this.run(), this.wait);
      this.wait = Math.min(this.wait * 2, 10_000);
      return false;
    }
  }

  // retry tries again at once, a refused message too when its id is given.
  retry(id) {
    const item = this.items.find((i) => i.id === id);
    if (item) item.state = "waiting";
    this.run();
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
  }
}
