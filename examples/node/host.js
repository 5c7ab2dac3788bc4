// Plays whole games of its own (game.js) with a bot from the service in every seat, and prints their records:
// node host.js HOST:PORT records.jsonl ITERATIONS
// The deals are those of the records; the bot of seat N has seed N.
// Once before: npm ci
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const grpc = require("@grpc/grpc-js");
const protoLoader = require("@grpc/proto-loader");
const { Game } = require("./game");

const [address, file, iterations] = process.argv.slice(2);
if (!iterations) {
  console.error("usage: node host.js HOST:PORT records.jsonl ITERATIONS");
  process.exit(2);
}
const definition = protoLoader.loadSync(["bvb/v1/engine.proto", "bvb/v1/bot.proto"], {
  includeDirs: [path.join(__dirname, "..", "..", "proto")],
  keepCase: true,
  enums: String,
  defaults: true,
});
const { EngineService, BotService } = grpc.loadPackageDefinition(definition).bvb.v1;
const options = { "grpc.enable_http_proxy": 0 };
const engine = new EngineService(address, grpc.credentials.createInsecure(), options);
const bots = new BotService(address, grpc.credentials.createInsecure(), options);

// A bot in a seat: tell it what its seat is shown, and ask it for moves.
class Seat {
  constructor(initialView, seed) {
    this.call = bots.PlaySeat();
    this.answer = new Promise((resolve, reject) => Object.assign(this, { resolve, reject }));
    this.call.on("data", ({ move }) => move && this.resolve(move.action.notation));
    this.call.on("error", (error) => this.reject(error));
    this.call.write({ start: { initial_view: initialView, seed, budget: { iterations: Number(iterations) }, multi_pv: 1 } });
  }

  shown(lines) {
    if (lines.length) this.call.write({ events: { lines } });
  }

  async move() {
    this.call.write({ move: {} });
    const notation = await this.answer;
    this.answer = new Promise((resolve, reject) => Object.assign(this, { resolve, reject }));
    return notation;
  }
}

async function main() {
  const info = await new Promise((resolve, reject) =>
    engine.GetEngineInfo({}, (error, answer) => (error ? reject(error) : resolve(answer))),
  );
  for (const line of fs.readFileSync(file, "utf8").trim().split("\n")) {
    const record = JSON.parse(line);
    const game = new Game(record, info.decks.find((deck) => deck.id === record.rules.deck));
    const seats = game.seats.map((seat) => new Seat(game.initialView(seat), seat));
    while (!game.result) {
      const shown = game.apply(await seats[game.current].move());
      seats.forEach((seat, number) => seat.shown(shown[number]));
    }
    seats.forEach((seat) => seat.call.end());
    console.log(JSON.stringify(game.record()));
  }
}

main()
  .catch((error) => {
    console.error(error.details ? `${grpc.status[error.code]}: ${error.details}` : error.message);
    process.exit(1); // open streams would keep it alive
  })
  .finally(() => {
    engine.close();
    bots.close();
  });
