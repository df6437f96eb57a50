// Fills the table, and says on <html data-loaded> whether every part of the page arrived: "all", or
// the names of those that did not. A browser test waits for that attribute.
import { parts } from "./parts.js";

const outcomes = await Promise.all(
  Object.entries(parts).map(async ([name, arrives]) => {
    try {
      await arrives();
      return { name, ok: true };
    } catch (error) {
      console.error(`${name}: ${error.message}`);
      return { name, ok: false };
    }
  }),
);

const missing = outcomes.filter(({ ok }) => !ok).map(({ name }) => name);
document.documentElement.dataset.loaded = missing.length === 0 ? "all" : `not ${missing.join(" ")}`;
document.querySelector("#parts").textContent = outcomes
  .map(({ name, ok }) => (ok ? name : `no ${name}`))
  .join(", ");
