// The message box: writing, attaching and sending.

import { chatURL, newID, request } from "./api.js";
import { el, icon } from "./view.js";
import { size, t } from "./strings.js";

const $ = (id) => document.getElementById(id);

export class Composer {
  // chat() is the present conversation, limits() what the server takes,
  // send({id, text, files}) gets what is to go.
  constructor({ chat, limits, send }) {
    Object.assign(this, { chat, limits, send, files: [] });
    this.text = $("text");
    $("composer").addEventListener("submit", (e) => {
      e.preventDefault();
      this.submit();
    });
    this.text.addEventListener("keydown", (e) => this.key(e));
    this.text.addEventListener("input", () => this.grow());
    this.text.addEventListener("compositionend", (e) => (this.composed = e.timeStamp));
    this.text.addEventListener("paste", (e) => this.paste(e));
    $("attach").addEventListener("click", () => $("picker").click());
    $("picker").addEventListener("change", (e) => {
      this.attach(e.target.files);
      e.target.value = "";
    });
    this.dropping();
    this.grow();
  }

  // key sends on Enter, unless an input method is being used: that Enter
  // chooses a word. Safari ends the composition just before the key arrives,
  // with the old key code 229.
  key(e) {
    if (e.key !== "Enter" || e.shiftKey) return;
    if (e.isComposing || e.keyCode === 229 || e.timeStamp === this.composed) return;
    e.preventDefault();
    this.submit();
  }

  grow() {
    this.text.style.height = "auto";
    this.text.style.height = `${this.text.scrollHeight}px`;
  }

  focus() {
    if (matchMedia("(pointer: fine)").matches) this.text.focus();
  }

  problem(text, quiet = false) {
    $("problem").textContent = text ?? "";
    $("problem").hidden = !text;
    $("problem").classList.toggle("quiet", quiet);
  }

  // note shows a short word that is no trouble.
  note(text) {
    this.problem(text, true);
  }

  submit() {
    const text = this.text.value.trim();
    if (!text && !this.files.length) return;
    if (this.files.some((f) => !f.done)) return this.problem(t("stillUploading"));
    if (new TextEncoder().encode(text).length > this.limits().text) {
      return this.problem(t("tooLong", { size: size(this.limits().text) }));
    }
    this.problem();
    this.send({ id: newID(), text, files: this.files.map((f) => f.done) });
    this.text.value = "";
    this.files = [];
    this.draw();
    this.grow();
    this.text.focus();
  }

  paste(e) {
    if (!e.clipboardData.files.length) return;
    e.preventDefault();
    this.attach(e.clipboardData.files);
  }

  dropping() {
    const shade = $("drop");
    const hasFiles = (e) => e.dataTransfer?.types.includes("Files");
    addEventListener("dragover", (e) => {
      if (!hasFiles(e)) return;
      e.preventDefault();
      shade.hidden = false;
    });
    addEventListener("dragleave", (e) => {
      if (!e.relatedTarget) shade.hidden = true;
    });
    addEventListener("drop", (e) => {
      if (!hasFiles(e)) return;
      e.preventDefault();
      shade.hidden = true;
      this.attach(e.dataTransfer.files);
    });
  }

  attach(list) {
    this.problem();
    for (const blob of list) {
      if (this.files.length >= this.limits().files) return this.problem(t("tooMany", { n: this.limits().files }));
      if (blob.size > this.limits().file) {
        this.problem(t("tooLarge", { name: blob.name, size: size(this.limits().file) }));
        continue;
      }
      const file = { name: blob.name, blob };
      if (blob.type.startsWith("image/")) file.preview = URL.createObjectURL(blob);
      this.files.push(file);
      this.upload(file);
    }
    this.draw();
  }

  async upload(file) {
    try {
      const url = chatURL(this.chat(), "/files?name=" + encodeURIComponent(file.name));
      file.done = await request("POST", url, file.blob, file.blob.type || "application/octet-stream");
    } catch (err) {
      if (!this.files.includes(file)) return;
      this.detach(file);
      this.problem(t("uploadFailed", { name: file.name, why: err.message }));
    }
    this.draw();
  }

  detach(file) {
    this.files = this.files.filter((f) => f !== file);
    if (file.preview) URL.revokeObjectURL(file.preview);
    this.draw();
  }

  draw() {
    $("attached").hidden = !this.files.length;
    $("attached").replaceChildren(...this.files.map((f) =>
      el("li", { class: f.done ? "ready" : "loading" },
        f.preview ? el("img", { src: f.preview, alt: "" }) : icon("file"),
        el("span", { class: "name" }, f.name),
        el("small", {}, f.done ? size(f.done.size) : t("uploading")),
        el("button", { type: "button", class: "icon", "aria-label": t("detach", { name: f.name }), onclick: () => this.detach(f) }, icon("close")))));
  }
}
