// The words of the page in both languages.

const words = {
  en: {
    title: "Magpie, simulated", other: "中文", platforms: "Platforms", chats: "Chats", messages: "Messages", ideas: "Ideas",
    private: "Private", group: "Group", up: "connected", down: "cut off",
    hintPrivate: "You are Ada, in a private chat with the bot on a fake {platform}. Nothing reaches the real one.",
    hintGroup: "You are Ada in a group on a fake {platform}. What you write here mentions the bot.",
    trouble: "Trouble", why: "See that nothing is lost.",
    cut: "Cut the connection", cutFor: "Cut it for {seconds} seconds",
    429: "Next message of the bot: too fast (429)", 502: "Next message of the bot: a proxy’s error (502)",
    drop: "Next message of the bot: the connection breaks", lost: "Next message of the bot: it arrives, its confirmation does not",
    arranged: "The next message of the bot will meet that.",
    write: "Message", send: "Send", attach: "Attach a file", remove: "Remove {name}",
    edited: "edited {n}×", gone: "deleted", gap: "The simulation does not answer. Was it stopped?",
    ideaList: ["hello", "what time is it", "write hello to note.txt", "list files", "/help"],
    telegram: "Telegram", feishu: "Feishu", discord: "Discord", dingtalk: "DingTalk", qq: "QQ",
  },
  zh: {
    title: "喜鹊 · 模拟", other: "English", platforms: "平台", chats: "会话", messages: "消息", ideas: "试试",
    private: "私聊", group: "群聊", up: "已连接", down: "已断开",
    hintPrivate: "你是 Ada，正在模拟的{platform}上与机器人私聊。不会碰到真的平台。",
    hintGroup: "你是 Ada，正在模拟的{platform}群里。你写的每句话都会 @ 机器人。",
    trouble: "制造故障", why: "看看会不会丢消息。",
    cut: "切断连接", cutFor: "切断 {seconds} 秒",
    429: "机器人的下一条消息：太快（429）", 502: "机器人的下一条消息：代理出错（502）",
    drop: "机器人的下一条消息：连接中断", lost: "机器人的下一条消息：已送达，但没有回执",
    arranged: "机器人的下一条消息会遇到它。",
    write: "消息", send: "发送", attach: "添加文件", remove: "移除 {name}",
    edited: "已编辑 {n} 次", gone: "已删除", gap: "模拟程序没有回应，是否已停止？",
    ideaList: ["你好", "现在几点", "把 你好 写到 note.txt", "列出文件", "/帮助"],
    telegram: "Telegram", feishu: "飞书", discord: "Discord", dingtalk: "钉钉", qq: "QQ",
  },
};

let language = (navigator.language || "en").startsWith("zh") ? "zh" : "en";

/** The word for key, with {names} filled in. */
export function t(key, values = {}) {
  const word = words[language][key] ?? key;
  return typeof word === "string" ? word.replace(/\{(\w+)\}/g, (_, name) => values[name]) : word;
}

/** Puts the words of the language into the page. */
export function translate() {
  document.documentElement.lang = language;
  document.title = t("title");
  for (const e of document.querySelectorAll("[data-t]")) e.textContent = t(e.dataset.t);
  for (const e of document.querySelectorAll("[data-label]")) e.setAttribute("aria-label", t(e.dataset.label));
  const button = document.getElementById("language");
  button.textContent = t("other");
  button.lang = language === "zh" ? "en" : "zh";
}

/** Changes to the other language. */
export function switchLanguage() {
  language = language === "zh" ? "en" : "zh";
  translate();
}
