// The making of an app by the platform's own SDK. argv: host and port.
const Lark = require("@larksuiteoapi/node-sdk");
Lark.registerApp({
  domain: process.argv[2],
  larkDomain: process.argv[2],
  onQRCodeReady: ({ url }) => console.log(`link ${url}`),
}).then(
  (app) => console.log(`app ${app.client_id} ${app.client_secret} ${app.user_info.open_id}`),
  (e) => console.log(`failed ${e.code ?? e}`),
);
