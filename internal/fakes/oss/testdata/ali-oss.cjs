// Talks with the fake through Alibaba's own client and prints what came of it.
const dns = require("dns");
// The service's host names lead to the fake: the bucket is a part of the name.
dns.lookup = (host, options, done) => {
  done = done || options;
  options.all ? done(null, [{ address: "127.0.0.1", family: 4 }]) : done(null, "127.0.0.1", 4);
};
const OSS = require("ali-oss");
const [endpoint, id, secret, bucket, region] = process.argv.slice(2);

async function code(promise) {
  try {
    await promise;
    return "done";
  } catch (e) {
    return `${e.status} ${e.code}`;
  }
}

async function talk(authorizationV4) {
  const options = { endpoint, accessKeyId: id, accessKeySecret: secret, bucket, region: `oss-${region}`, authorizationV4, retryMax: 0 };
  const client = new OSS(options);
  const name = authorizationV4 ? "v4/喜鹊 & co.txt" : "v1/喜鹊 & co.txt";
  const put = await client.put(name, Buffer.from("你好 hello"), {
    headers: { "Content-Type": "text/plain", "Content-Disposition": "inline" },
  });
  const url = authorizationV4 ? await client.signatureUrlV4("GET", 60, {}, name) : client.signatureUrl(name, { expires: 60 });
  const answer = await fetch(url);
  const got = await client.get(name);
  const deleted = await client.delete(name);
  const broken = await fetch(url.replace(/([Ss]ignature=)../, "$1xx"));
  return {
    put: put.res.status,
    fetched: await answer.text(),
    type: answer.headers.get("content-type"),
    got: got.content.toString(),
    deleted: deleted.res.status,
    broken: broken.status,
    missing: await code(client.get(name)),
    key: await code(new OSS({ ...options, accessKeySecret: "wrong" }).put("a", Buffer.from("x"))),
    who: await code(new OSS({ ...options, accessKeyId: "nobody" }).put("a", Buffer.from("x"))),
    where: await code(new OSS({ ...options, bucket: "another" }).put("a", Buffer.from("x"))),
  };
}

Promise.all([talk(false), talk(true)])
  .then((all) => console.log(JSON.stringify(all)))
  .catch((e) => {
    console.error(e);
    process.exit(1);
  });
