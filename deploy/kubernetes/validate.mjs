// Validates manifests against published API schemas: node validate.mjs TOOLS <manifests.yaml
// Prints a line for each fault, then the count. Exit 1: a fault, an unknown kind, or no manifest. An unknown field is a
// fault, as `kubectl apply --validate=strict` has it.
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
const tools = resolve(process.argv[2]);
const require = createRequire(tools + "/");
const { parseAllDocuments } = require("yaml");
const library = { "cert-manager.io": "@kubernetes-models/cert-manager", "monitoring.coreos.com": "@kubernetes-models/prometheus-operator" };

// The packages are modules, which `require` does not load, and an import from here would look beside this file.
async function modelOf({ apiVersion, kind }) {
  const group = apiVersion.includes("/") ? apiVersion.split("/")[0] : "";
  const folder = `${tools}/node_modules/${library[group] ?? "kubernetes-models"}/${apiVersion}`;
  const path = [`${folder}/index.mjs`, `${folder}/index.js`].find(existsSync);
  return path ? (await import(pathToFileURL(path)))[kind] : undefined;
}

// The validators let unknown fields pass. They read each field that they know, and every key of a free map, so a field
// that nobody has read is unknown. `unread` maps a path to whether its value was read.
function watched(value, path, unread) {
  if (typeof value !== "object" || value === null) return value;
  for (const key of Object.keys(value)) unread.set(`${path}/${key}`, true);
  return new Proxy(value, {
    get(target, key, receiver) {
      const found = Reflect.get(target, key, receiver);
      if (typeof key !== "string" || !Object.hasOwn(target, key)) return found;
      const place = `${path}/${key}`;
      const first = unread.get(place) === true;
      unread.set(place, false);
      if (typeof found !== "object" || found === null) return found;
      if (first) kept.set(place, watched(found, place, unread));
      return kept.get(place);
    },
  });
}
const kept = new Map();
let faults = 0, manifests = 0;
const fault = (text) => { ++faults; console.log(text); };
const seen = new Set();
for (const document of parseAllDocuments(readFileSync(0, "utf8"))) {
  for (const error of document.errors) fault(error.message);
  const manifest = document.toJS();
  if (!manifest) continue;
  ++manifests;
  const name = `${manifest.kind} ${manifest.metadata?.name}`;
  if (seen.has(name)) fault(`${name}: is there twice`);
  seen.add(name);
  const Model = await modelOf(manifest);
  if (!Model) { fault(`${name}: ${manifest.apiVersion} has no such kind`); continue; }
  try {
    const unread = new Map();
    kept.clear();
    Model.prototype.validate.call(watched(new Model(manifest), "", unread));
    for (const [path, is] of unread) if (is) fault(`${name}: ${path}: unknown field`);
  } catch (error) {
    for (const line of error.message.split("\n").filter((text) => text.trim())) fault(`${name}: ${line}`);
  }
}
console.log(`${manifests} manifests, ${faults} faults`);
process.exit(faults === 0 && manifests > 0 ? 0 : 1);
