// Each part of the page by name, with a function that resolves once it has arrived and is right.
export const parts = { css, images, json, range, compressed, missing };

const root = new URL("../", import.meta.url);

async function css() {
  const mark = getComputedStyle(document.documentElement).getPropertyValue("--site-css").trim();
  expect(mark, "loaded");
}

async function images() {
  await Promise.all(Array.from(document.images, (image) => image.decode()));
}

async function json() {
  const reply = await ask("data/architectures.json");
  expect(reply.headers.get("content-type").split(";")[0], "application/json");
  const rows = document.querySelector("#who tbody");
  for (const { name, steps } of await reply.json()) {
    const row = rows.insertRow();
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = name;
    row.append(head);
    for (const step of ["accept", "transfer", "path", "pages"]) {
      row.insertCell().textContent = steps[step];
    }
  }
}

// The signature of a PNG is its first eight bytes.
async function range() {
  const reply = await ask("img/river.png", { headers: { range: "bytes=0-7" } }, 206);
  const bytes = new Uint8Array(await reply.arrayBuffer());
  expect(bytes.join(" "), "137 80 78 71 13 10 26 10");
}

// Browsers take gzip and Brotli, so the sibling that was compressed beforehand is served.
async function compressed() {
  const reply = await ask("css/site.css", { cache: "reload" });
  expect(["br", "gzip"].includes(reply.headers.get("content-encoding")), true);
  expect((await reply.text()).includes("--site-css: loaded"), true);
}

async function missing() {
  await ask("no-such-page", {}, 404);
}

async function ask(path, options = {}, status = 200) {
  const reply = await fetch(new URL(path, root), options);
  expect(reply.status, status);
  return reply;
}

function expect(got, expected) {
  if (got !== expected) throw new Error(`${got} in place of ${expected}`);
}
