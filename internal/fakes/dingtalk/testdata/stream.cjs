// An echo bot on DingTalk's own stream SDK for Node: an independent client that
// shows whether the fake speaks as DingTalk does. argv: the fake's address,
// client id, client secret. The SDK's addresses are constants, so they are
// turned at the HTTP client that it uses.
const axios = require("axios");
const { DWClient, TOPIC_ROBOT, TOPIC_CARD } = require("dingtalk-stream");
const [base, clientId, clientSecret] = process.argv.slice(2);
axios.interceptors.request.use((r) => {
  r.url = r.url.replace(/^https:\/\/(api|oapi)\.dingtalk\.com/, base);
  return r;
});

const client = new DWClient({ clientId, clientSecret });
const reply = (m, text) =>
  axios.post(m.sessionWebhook, { msgtype: "text", text: { content: text }, at: { atUserIds: [m.senderStaffId] } });

client.registerCallbackListener(TOPIC_ROBOT, async (res) => {
  const m = JSON.parse(res.data);
  const text = m.text.content.trim();
  if (text === "say nothing") return; // no acknowledgement
  const quoted = m.text.repliedMsg;
  await reply(m, quoted ? `quoted ${quoted.msgType}: ${quoted.content.text}` : `echo: ${text}`);
  client.socketCallBackResponse(res.headers.messageId, "done");
  if (text === "token") await reply(m, (await client.getAccessToken()) ? "a token" : "none");
});
client.registerCallbackListener(TOPIC_CARD, (res) => {
  const press = JSON.parse(res.data);
  console.log(`pressed ${press.outTrackId}`);
  client.socketCallBackResponse(res.headers.messageId, {});
});
process.on("SIGTERM", () => {
  client.disconnect();
  process.exit(0);
});
client.connect();
