// The words of the page, in English and Chinese.

const words = {
  en: {
    skip: "Skip to the message box",
    conversations: "Conversations",
    new: "New conversation",
    untitled: "New conversation",
    remove: "Remove “{name}” from the list",
    removeSure: "Remove this conversation from the page? Its messages and files here are deleted.",
    messages: "Messages",
    hello: "What can I do for you?",
    ideas: ["What can you do?", "What time is it?", "/help"],
    latest: "To the latest message",
    attached: "Attached files",
    attach: "Attach files",
    detach: "Remove {name}",
    write: "Message",
    send: "Send",
    stop: "Stop",
    drop: "Drop files to attach them",
    connecting: "connecting…",
    online: "connected",
    lost: "The connection is gone. Trying again…",
    sending: "sending…",
    waiting: "not sent yet, trying again",
    refused: "not sent: {why}",
    again: "Try again",
    discard: "Discard",
    working: "working…",
    runs: "using {name}…",
    done: "used {name}",
    failed: "{name} failed",
    you: "You",
    bot: "Magpie",
    copy: "Copy",
    copied: "Copied",
    download: "Download {name}",
    expired: "no longer available",
    uploading: "uploading…",
    tooLarge: "{name} is larger than {size}.",
    tooMany: "At most {n} files fit into one message.",
    tooLong: "The text is too long: at most {size}.",
    uploadFailed: "{name} could not be uploaded: {why}",
    stillUploading: "A file is still on its way up.",
    gone: "This button is no longer there.",
    proxyTooLarge: "the proxy in front of the bot takes nothing as large as this (nginx: client_max_body_size)",
    proxyAlone: "the proxy in front of the bot does not reach it ({status})",
    proxyRefuses: "the proxy in front of the bot refuses it ({status})",
    offline: "no connection",
    login: "Log in again",
    loginWhy: "Your login has ended, or this browser has forgotten it. What you have written stays here.",
    loginWhere: "The token is WEB_TOKEN in .env with Docker, else in the file web.token in the data folder.",
    token: "Token",
    enter: "Log in",
    loginWrong: "This is not the token.",
    loginOften: "Too many attempts. Wait a minute.",
  },
  zh: {
    skip: "跳到输入框",
    conversations: "对话",
    new: "新对话",
    untitled: "新对话",
    remove: "从列表中移除“{name}”",
    removeSure: "从页面移除这个对话？这里的消息和文件会被删除。",
    messages: "消息",
    hello: "有什么可以帮你？",
    ideas: ["你能做什么？", "现在几点？", "/help"],
    latest: "回到最新消息",
    attached: "已添加的文件",
    attach: "添加文件",
    detach: "移除 {name}",
    write: "输入消息",
    send: "发送",
    stop: "停止",
    drop: "松开鼠标即可添加文件",
    connecting: "连接中…",
    online: "已连接",
    lost: "连接已断开，正在重试…",
    sending: "发送中…",
    waiting: "尚未发出，正在重试",
    refused: "未发出：{why}",
    again: "重试",
    discard: "放弃",
    working: "处理中…",
    runs: "正在使用 {name}…",
    done: "已使用 {name}",
    failed: "{name} 失败",
    you: "你",
    bot: "Magpie",
    copy: "复制",
    copied: "已复制",
    download: "下载 {name}",
    expired: "已失效",
    uploading: "上传中…",
    tooLarge: "{name} 超过了 {size}。",
    tooMany: "一条消息最多 {n} 个文件。",
    tooLong: "文字太长：最多 {size}。",
    proxyTooLarge: "机器人前面的反向代理不接受这么大的内容（nginx：client_max_body_size）",
    proxyAlone: "反向代理连不上机器人（{status}）",
    proxyRefuses: "机器人前面的反向代理拒绝了请求（{status}）",
    uploadFailed: "{name} 上传失败：{why}",
    stillUploading: "还有文件正在上传。",
    gone: "这个按钮已失效。",
    offline: "无连接",
    login: "请重新登录",
    loginWhy: "登录已失效，或浏览器已不记得它。你写的内容都会保留。",
    loginWhere: "令牌：用 Docker 时是 .env 里的 WEB_TOKEN；否则在数据目录的 web.token 文件里。",
    token: "令牌",
    enter: "登录",
    loginWrong: "令牌不正确。",
    loginOften: "尝试次数过多，请一分钟后再试。",
  },
};

export const lang = navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";

export function t(key, values = {}) {
  const text = words[lang][key];
  if (typeof text !== "string") return text;
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}

// translate fills in the words of the static part of the page.
export function translate() {
  document.documentElement.lang = lang === "zh" ? "zh-CN" : "en";
  for (const e of document.querySelectorAll("[data-t]")) e.textContent = t(e.dataset.t);
  for (const e of document.querySelectorAll("[data-label]")) {
    e.setAttribute("aria-label", t(e.dataset.label));
    if (e.tagName === "BUTTON") e.title = t(e.dataset.label);
  }
  for (const e of document.querySelectorAll("[data-placeholder]")) e.placeholder = t(e.dataset.placeholder) + "…";
}

export function size(bytes) {
  const units = ["B", "KiB", "MiB", "GiB"];
  let i = 0;
  while (bytes >= 1024 && i < units.length - 1) {
    bytes /= 1024;
    i++;
  }
  return `${bytes >= 10 || i === 0 ? Math.round(bytes) : bytes.toFixed(1)} ${units[i]}`;
}

export function clock(at) {
  const when = new Date(at);
  const today = new Date().toDateString() === when.toDateString();
  const options = today ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" };
  return new Intl.DateTimeFormat(navigator.language, options).format(when);
}
