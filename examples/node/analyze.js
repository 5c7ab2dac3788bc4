// Watches a search until one move has half of all visits, then has it stopped:
// node analyze.js HOST:PORT position.json
// Once before: npm ci
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const grpc = require("@grpc/grpc-js");
const protoLoader = require("@grpc/proto-loader");

const [address, file] = process.argv.slice(2);
if (!file) {
  console.error("usage: node analyze.js HOST:PORT position.json");
  process.exit(2);
}
process.on("uncaughtException", ({ message }) => {
  console.error(message); // no such file, or no JSON in it
  process.exit(1);
});
const definition = protoLoader.loadSync("bvb/v1/engine.proto", {
  includeDirs: [path.join(__dirname, "..", "..", "proto")],
  keepCase: true,
  enums: String,
  defaults: true,
});
const { EngineService } = grpc.loadPackageDefinition(definition).bvb.v1;

const client = new EngineService(address, grpc.credentials.createInsecure(), { "grpc.enable_http_proxy": 0 });
const position = JSON.parse(fs.readFileSync(file, "utf8"));

// One that is stopped: it still sends its final result.
const call = client.Analyze({
  search: { observation: position, budget: { time_ms: 20000 }, multi_pv: 3 },
  interval_ms: 100,
});
let asked = false;
call.on("data", ({ query_id, final, result }) => {
  console.log(JSON.stringify({ final, move: result.action.notation, iterations: result.iterations }));
  const best = result.alternatives[0];
  if (!asked && result.iterations > 2000 && (best.visits > result.iterations / 2 || result.iterations > 8000)) {
    asked = true;
    client.StopAnalysis({ query_id }, (error) => error && console.error(error.details));
  }
});
call.on("error", (error) => {
  console.error(`${grpc.status[error.code]}: ${error.details}`);
  process.exitCode = 1;
  client.close();
});
call.on("end", () => {
  // One that is cancelled: nothing more comes.
  const second = client.Analyze({ search: { observation: position, budget: { time_ms: 20000 } } });
  second.once("data", () => second.cancel());
  second.on("error", (error) => {
    console.log(JSON.stringify({ cancelled: error.code === grpc.status.CANCELLED }));
    client.close();
  });
});
