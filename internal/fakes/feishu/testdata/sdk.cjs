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

async function onMessage({ message, sender }) {
  if (message.message_type === "image") return files(message);
  const { text } = JSON.parse(message.content);
  if (text === "stream") return stream(message.chat_id);
  if (text === "refused") return refused(message.chat_id);
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
  "card.action.trigger": async ({ action, context }) => {
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
