// An echo bot on discord.js: an independent client that shows whether the fake
// speaks as Discord does. argv: API root (without version), token.
const { Client, GatewayIntentBits, Partials, ActionRowBuilder, ButtonBuilder, ButtonStyle, AttachmentBuilder, MessageFlags, SlashCommandBuilder, DiscordAPIError } = require("discord.js");
const [root, token] = process.argv.slice(2);
const client = new Client({
  intents: [GatewayIntentBits.Guilds, GatewayIntentBits.GuildMessages, GatewayIntentBits.DirectMessages, GatewayIntentBits.MessageContent],
  partials: [Partials.Channel],
  rest: { api: root, timeout: 60_000 },
});

const text = (i) => i.options.getString("text");
const row = () => new ActionRowBuilder().addComponents(
  new ButtonBuilder().setCustomId("yes:1").setLabel("Yes").setStyle(ButtonStyle.Primary),
  new ButtonBuilder().setCustomId("no:1").setLabel("No").setStyle(ButtonStyle.Secondary),
);

client.once("clientReady", async (c) => {
  await c.application.commands.set([new SlashCommandBuilder().setName("status").setDescription("what goes on").setNameLocalizations({ "zh-CN": "状态" }).setDescriptionLocalizations({ "zh-CN": "状态" })]);
  const kept = await c.application.commands.fetch({ withLocalizations: true });
  if (kept.first().nameLocalizations["zh-CN"] !== "状态") throw new Error("the menu has no Chinese name");
  const channel = await c.channels.fetch("301");
  await channel.send(`ready as ${c.user.username} in ${c.guilds.cache.get("300").name}`);
});

client.on("messageCreate", async (m) => {
  if (m.author.bot) return;
  if (m.content === "too long") {
    try {
      await m.channel.send("x".repeat(2001));
    } catch (e) {
      if (!(e instanceof DiscordAPIError)) throw e;
      await m.channel.send(`${e.status} ${e.code} ${e.rawError.errors.content._errors[0].code}`);
    }
    return;
  }
  if (m.content === "edit") {
    const sent = await m.channel.send("first");
    await sent.edit("second 第二");
    await sent.react("👍");
    return;
  }
  if (m.content === "history") {
    const all = await m.channel.messages.fetch({ after: "1", limit: 100 });
    await m.channel.send(`${all.size} messages, the newest ${all.first().content}`);
    return;
  }
  if (m.attachments.size > 0) {
    const answer = await fetch(m.attachments.first().url);
    const data = Buffer.from(await answer.arrayBuffer());
    await m.channel.send({ content: `${data.length} bytes`, files: [new AttachmentBuilder(data, { name: "copy.png" }), new AttachmentBuilder(Buffer.from("words"), { name: "w.txt" })] });
    return;
  }
  await m.channel.sendTyping();
  await m.reply({ content: `**echo**: ${m.content}`, components: [row()], allowedMentions: { repliedUser: false }, nonce: m.id, enforceNonce: true });
});

client.on("interactionCreate", async (i) => {
  if (i.isButton()) {
    await i.update({ content: `pressed ${i.customId}`, components: [] });
    await i.followUp({ content: "thanks", flags: MessageFlags.Ephemeral });
    return;
  }
  if (i.isChatInputCommand() && i.commandName === "slow") {
    await i.deferReply();
    await i.editReply({ content: "half", components: [row()] });
    const whole = await i.editReply({ content: `used /${i.commandName} as ${text(i)}`, flags: MessageFlags.SuppressEmbeds });
    const more = await i.followUp("more");
    await i.webhook.editMessage(more, "more words");
    await i.followUp("to be deleted").then((m) => i.deleteReply(m));
    await whole.react("👀");
    return;
  }
  if (i.isChatInputCommand()) await i.reply({ content: `used /${i.commandName}`, flags: MessageFlags.Ephemeral });
});

process.on("unhandledRejection", (e) => {
  console.error("handler failed:", e);
  process.exit(3);
});
client.on("shardResume", () => console.log("resumed"));
process.on("SIGTERM", async () => {
  await client.destroy();
  process.exit(0);
});
client.login(token);
