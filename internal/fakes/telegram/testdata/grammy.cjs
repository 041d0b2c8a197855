// An echo bot on grammY: an independent client that shows whether the fake
// speaks as Telegram does. argv: API root, token.
const { Bot, InlineKeyboard, InputFile, GrammyError } = require("grammy");
const [root, token] = process.argv.slice(2);
const bot = new Bot(token, { client: { apiRoot: root } });

bot.on("message:text", async (ctx) => {
  if (ctx.message.text === "bad html") {
    try {
      await ctx.reply("<b>never closed", { parse_mode: "HTML" });
      await ctx.reply("no error came");
    } catch (e) {
      if (!(e instanceof GrammyError)) throw e;
      await ctx.reply(`${e.error_code} ${e.description}`);
    }
    return;
  }
  if (ctx.message.text === "flood") {
    try {
      await ctx.reply("too fast");
    } catch (e) {
      await ctx.reply(`${e.error_code} retry ${e.parameters.retry_after}`);
    }
    return;
  }
  if (ctx.message.text === "draft") {
    try {
      await ctx.api.sendMessageDraft(ctx.chat.id, 0, "no id");
    } catch (e) {
      if (!(e instanceof GrammyError)) throw e;
      console.log("refused:", e.description);
      await ctx.api.sendMessageDraft(ctx.chat.id, 7, "<i>half</i> of it", { parse_mode: "HTML" });
    }
    return;
  }
  if (ctx.message.text === "menu") {
    await ctx.api.setMyCommands([{ command: "help", description: "帮助" }], { language_code: "zh" });
    const zh = await ctx.api.getMyCommands({ language_code: "zh" });
    const others = await ctx.api.getMyCommands();
    await ctx.reply(`${zh.length} ${zh[0].description}, ${others.length}`);
    return;
  }
  await ctx.reply(`<b>echo</b>: ${ctx.message.text}`, {
    parse_mode: "HTML",
    reply_parameters: { message_id: ctx.message.message_id },
    reply_markup: new InlineKeyboard().text("Yes", "yes:1").text("No", "no:1"),
  });
});

bot.on("callback_query:data", async (ctx) => {
  await ctx.answerCallbackQuery({ text: "thanks" });
  await ctx.editMessageText(`pressed ${ctx.callbackQuery.data}`);
});

bot.on("message:photo", async (ctx) => {
  const file = await ctx.getFile();
  const answer = await fetch(`${root}/file/bot${token}/${file.file_path}`);
  const data = Buffer.from(await answer.arrayBuffer());
  const sent = await ctx.replyWithMediaGroup([
    { type: "photo", media: new InputFile(data, "one.png"), caption: "first" },
    { type: "photo", media: new InputFile(data, "two.png") },
  ]);
  await ctx.replyWithDocument(new InputFile(data, "copy 副本.png"), { caption: `${data.length} bytes, album of ${sent.length}` });
});

bot.catch((e) => {
  console.error("handler failed:", e.error);
  process.exit(3);
});

process.on("SIGTERM", async () => {
  await bot.stop();
  process.exit(0);
});
bot.start({ onStart: (me) => console.log(`started ${me.username}`) });
