// An echo bot on the platform's own SDK: an independent client that shows
// whether the fake speaks as Feishu does. argv: domain, app id, secret.
const Lark = require("@larksuiteoapi/node-sdk");
const [domain, appId, appSecret] = process.argv.slice(2);
const config = { appId, appSecret, domain, loggerLevel: Lark.LoggerLevel.warn };
const client = new Lark.Client(config);

const send = (chat, msg_type, content) =>
  client.im.v1.message.create({
    params: { receive_id_type: "chat_id" },
    data: { receive_id: chat, msg_type, content: JSON.stringify(content), uuid: `${msg_type}${Math.random()}` },
  });

const card = (text, more = [], streaming_mode = false) => ({
  schema: "2.0",
  config: { update_multi: true, streaming_mode },
  body: { elements: [{ tag: "markdown", element_id: "md", content: text }, ...more] },
});

async function stream(chat) {
  const made = await client.cardkit.v1.card.create({ data: { type: "card_json", data: JSON.stringify(card("…", [], true)) } });
  const card_id = made.data.card_id;
  const sent = await send(chat, "interactive", { type: "card", data: { card_id } });
  await client.cardkit.v1.cardElement.content({ path: { card_id, element_id: "md" }, data: { content: "growing **text**", sequence: 1 } });
  const found = await client.cardkit.v1.card.idConvert({ data: { message_id: sent.data.message_id } });
  await client.cardkit.v1.card.settings({
    path: { card_id: found.data.card_id },
    data: { settings: JSON.stringify({ config: { streaming_mode: false } }), sequence: 2 },
  });
}

async function files(message) {
  const { image_key } = JSON.parse(message.content);
  const got = await client.im.v1.messageResource.get({ path: { message_id: message.message_id, file_key: image_key }, params: { type: "image" } });
  const chunks = [];
  for await (const c of got.getReadableStream()) chunks.push(c);
  const data = Buffer.concat(chunks);
  const image = await client.im.v1.image.create({ data: { image_type: "message", image: data } });
  await send(message.chat_id, "image", { image_key: image.image_key });
  const file = await client.im.v1.file.create({ data: { file_type: "stream", file_name: "copy 副本.bin", file: data } });
  await send(message.chat_id, "file", { file_key: file.file_key });
}

async function refused(chat) {
  try {
    await send(chat, "interactive", { schema: "2.0", body: { elements: [{ tag: "nonsense" }] } });
  } catch (e) {
    await send(chat, "text", { text: `refused ${e.response.data.code}` });
  }
}

// look reads back what the chat shows, and asks who is in a group and what the
// app may do; it says what it found.
async function look(chat, group, asked) {
  const own = await send(chat, "interactive", card("**read** me"));
  const path = { message_id: own.data.message_id };
  const degraded = await client.im.v1.message.get({ path });
  const sent = await client.im.v1.message.get({ path, params: { card_msg_content_type: "user_card_content" } });
  const dsl = JSON.parse(JSON.parse(sent.data.items[0].body.content).user_dsl);
  const members = [];
  for await (const page of await client.im.v1.chatMembers.getWithIterator({ path: { chat_id: group }, params: { member_id_type: "open_id", page_size: 2 } })) {
    members.push(...page.items.map((m) => m.name));
  }
  const user = await client.contact.v3.user.get({ path: { user_id: asked }, params: { user_id_type: "open_id" } });
  const scopes = await client.application.v6.scope.list();
  const granted = scopes.data.scopes.filter((s) => s.grant_status === 1).length;
  await send(chat, "text", {
    text: [JSON.parse(degraded.data.items[0].body.content).elements[0][0].text, dsl.body.elements[0].content, members.join(), user.data.user.name, granted].join(" | "),
  });
}

async function onMessage({ message, sender }) {
  if (message.message_type === "image") return files(message);
  const { text } = JSON.parse(message.content);
  if (text === "stream") return stream(message.chat_id);
  if (text === "refused") return refused(message.chat_id);
  if (text.startsWith("look ")) return look(message.chat_id, text.slice(5), sender.sender_id.open_id);
  const made = await client.im.v1.messageReaction.create({
    path: { message_id: message.message_id },
    data: { reaction_type: { emoji_type: "Typing" } },
  });
  const sent = await client.im.v1.message.reply({
    path: { message_id: message.message_id },
    data: { msg_type: "text", content: JSON.stringify({ text: `echo: ${text} from ${sender.sender_id.open_id}` }) },
  });
  await client.im.v1.message.update({
    path: { message_id: sent.data.message_id },
    data: { msg_type: "text", content: JSON.stringify({ text: `echo: ${text}, edited` }) },
  });
  const button = { tag: "button", text: { tag: "plain_text", content: "Yes" }, behaviors: [{ type: "callback", value: { d: "yes" } }] };
  await send(message.chat_id, "interactive", card("**Shall** I?", [button]));
  await client.im.v1.messageReaction.delete({ path: { message_id: message.message_id, reaction_id: made.data.reaction_id } });
}

const events = new Lark.EventDispatcher({}).register({
  "im.message.receive_v1": onMessage,
  "im.message.reaction.created_v1": () => {},
  "im.message.recalled_v1": ({ chat_id, message_id }) => send(chat_id, "text", { text: `recalled ${message_id}` }),
  "im.chat.member.bot.added_v1": ({ chat_id, operator_id }) => send(chat_id, "text", { text: `added by ${operator_id.open_id}` }),
  "im.chat.member.user.added_v1": ({ chat_id, users }) => send(chat_id, "text", { text: `joined ${users.map((u) => u.name)}` }),
  "im.chat.member.user.deleted_v1": ({ chat_id, users }) => send(chat_id, "text", { text: `left ${users.map((u) => u.user_id.open_id)}` }),
  "im.chat.access_event.bot_p2p_chat_entered_v1": ({ chat_id, operator_id }) => send(chat_id, "text", { text: `entered by ${operator_id.open_id}` }),
  "application.bot.menu_v6": ({ event_key, operator }) =>
    client.im.v1.message.create({
      params: { receive_id_type: "open_id" },
      data: { receive_id: operator.operator_id.open_id, msg_type: "text", content: JSON.stringify({ text: `chose ${event_key}` }) },
    }),
  "card.action.trigger": async ({ action, context }) => {
    if (action.value.d === "toast") return { toast: { type: "info", content: "one moment", i18n: { zh_cn: "请稍候" } } };
    await client.im.v1.message.patch({
      path: { message_id: context.open_message_id },
      data: { content: JSON.stringify(card(`pressed ${action.value.d}`)) },
    });
  },
});

const ws = new Lark.WSClient(config);
ws.start({ eventDispatcher: events });
process.on("SIGTERM", () => {
  ws.close({ force: true });
  process.exit(0);
});
