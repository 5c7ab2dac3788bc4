// Asks for the best move in a position: node suggest.js HOST:PORT position.json
// Once before: npm ci
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const grpc = require("@grpc/grpc-js");
const protoLoader = require("@grpc/proto-loader");

const [address, file] = process.argv.slice(2);
if (!file) {
  console.error("usage: node suggest.js HOST:PORT position.json");
  process.exit(2);
}
process.on("uncaughtException", ({ message }) => {
  console.error(message); // no such file, or no JSON in it
  process.exit(1);
});
const definition = protoLoader.loadSync("bvb/v1/engine.proto", {
  includeDirs: [path.join(__dirname, "..", "..", "proto")],
  keepCase: true, // field names as in the .proto files and in the JSON of `bvb position`
  enums: String,
});
const { EngineService } = grpc.loadPackageDefinition(definition).bvb.v1;

const client = new EngineService(address, grpc.credentials.createInsecure(), { "grpc.enable_http_proxy": 0 });
const request = {
  observation: JSON.parse(fs.readFileSync(file, "utf8")),
  budget: { iterations: 1000 },
  seed: 1,
};
client.SuggestMove(request, (error, answer) => {
  if (error) {
    console.error(`${grpc.status[error.code]}: ${error.details}`);
    process.exitCode = 1;
  } else {
    console.log(JSON.stringify(answer));
  }
  client.close();
});
