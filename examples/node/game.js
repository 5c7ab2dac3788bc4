// Bears vs Babies as a front-end needs it: who may see what, and what every action does. It trusts the bots to move legally.
// The deck is the one that GetEngineInfo describes; the deal is that of a game record.
"use strict";

const TYPES = ["land", "sea", "sky"];
const SLOTS = ["left_arm", "right_arm", "legs", "left_tool", "right_tool", "hat"];
const BASE_ACTIONS = { 2: 4, 3: 3, 4: 2, 5: 2 };
const headName = (kind) => kind.replace("_head", "");
const roleOf = (slot) => slot.replace(/^(left|right)_/, "");

class Game {
  constructor({ rules, deal }, deck) {
    this.rules = rules;
    this.deal = deal;
    this.cards = Object.fromEntries(deck.cards.map((card) => [card.id, card]));
    this.seats = [...Array(rules.players).keys()];
    this.hands = deal.hands.map((hand) => [...hand]);
    this.piles = deal.piles.map((pile) => [...pile]);
    this.armies = {};
    for (const type of TYPES) {
      this.armies[type] = deal.armies[type].map(({ kind, seat }) => ({ kind, seenBy: new Set([seat]) }));
    }
    this.monsters = new Map(); // by number, in order of creation
    this.nextMonster = 1;
    this.discard = [];
    this.collected = this.seats.map(() => []);
    this.current = rules.first_player;
    this.turn = 1;
    this.used = 0;
    this.pending = null; // "draw" or "dive" while a Wild Provoke waits for an army to be named
    this.finalTurnsLeft = null;
    this.actions = [];
    this.result = null;
  }

  // What a seat knows before the first action: a bvb.v1.Observation.
  initialView(seat) {
    const located = this.rules.practice ? [] : [{ kind: "bear_head" }];
    return {
      rules: this.rules,
      seat,
      turn_number: 1,
      current_player: this.current,
      pile_counts: this.piles.map((pile) => pile.length),
      armies: TYPES.map((type) => ({
        type,
        babies: this.armies[type].map((baby) => ({
          kind: baby.seenBy.has(seat) ? baby.kind : "",
          seen_by: [...baby.seenBy],
        })),
      })),
      players: this.seats.map((other) => ({
        hand_count: this.hands[other].length,
        hand: other === seat ? this.hands[seat] : [],
        located: other === seat ? [] : located,
      })),
      next_monster: 1,
    };
  }

  // Plays an action in notation; returns for every seat the lines that it is shown.
  apply(action) {
    this.shown = this.seats.map(() => []);
    this.actions.push(action);
    const [verb, ...words] = action.split(" ");
    this[verb](action, ...words);
    return this.shown;
  }

  show(line, viewers = this.seats, otherwise = null) {
    for (const seat of this.seats) {
      if (viewers.includes(seat)) this.shown[seat].push(line);
      else if (otherwise !== null) this.shown[seat].push(otherwise);
    }
  }

  draw(action, number) {
    const kind = this.piles[number - 1].shift();
    const { role, types } = this.cards[kind];
    const line = `${action} = `;
    if (this.piles.every((pile) => pile.length === 0)) this.finalTurnsLeft = this.rules.players;
    this.used += 1;
    if (role === "baby") {
      this.armies[types[0]].push({ kind, seenBy: new Set([this.current]) });
      this.show(line + kind, [this.current], `${line}${types[0]}_baby`);
    } else if (role === "wild_provoke") {
      this.show(line + kind);
      this.meetWildProvoke(kind, "draw");
    } else {
      this.hands[this.current].push(kind);
      this.show(line + kind, [this.current], `${line}?`);
    }
    this.endAction();
  }

  dive(action, kind) {
    const { role, types } = this.cards[kind];
    this.show(action);
    this.discard.splice(this.discard.indexOf(kind), 1);
    if (role === "baby") this.armies[types[0]].push({ kind, seenBy: new Set(this.seats) });
    else if (role === "wild_provoke") this.meetWildProvoke(kind, "dive");
    else this.hands[this.current].push(kind);
    if (!this.pending) this.endTurn();
  }

  pass(action) {
    this.show(action);
    this.endTurn();
  }

  provoke(action, type) {
    this.show(action);
    this.fight(type);
    this.endTurn();
  }

  wild(action, type) {
    this.show(action);
    this.fight(type);
    this.discard.push("wild_provoke");
    const source = this.pending;
    this.pending = null;
    if (source === "dive") this.endTurn();
    else this.endAction();
  }

  head(action, name, where) {
    this.show(action);
    this.play(`${name}_head`);
    this.placeHead({ kind: `${name}_head`, masked: false }, where);
    this.endAction();
  }

  mask(action, name, where) {
    this.show(action, [this.current], ["mask ?", where].join(" ").trim());
    this.play("mask");
    this.take(`${name}_head`);
    this.placeHead({ kind: `${name}_head`, masked: true, seenBy: new Set([this.current]), excluded: new Set() }, where);
    this.endAction();
  }

  torso(action, kind, where) {
    this.attach(action, kind, where, "torso", kind);
  }

  arm(action, where, side) {
    this.attach(action, "arm", where, `${side}_arm`, true);
  }

  legs(action, where) {
    this.attach(action, "legs", where, "legs", true);
  }

  tool(action, where, side) {
    this.attach(action, "tool", where, `${side}_tool`, true);
  }

  hat(action, where) {
    this.attach(action, "hat", where, "hat", true);
  }

  attach(action, kind, where, slot, value) {
    this.show(action);
    this.play(kind);
    this.monster(where)[slot] = value;
    this.endAction();
  }

  swap(action, where, otherWhere) {
    this.show(action);
    this.play("swap");
    this.discard.push("swap");
    const [one, other] = [this.monster(where), this.monster(otherWhere)];
    [one.head, other.head] = [other.head, one.head];
    for (const { head, owner, number } of [one, other]) {
      if (!this.knows(owner, head)) {
        head.seenBy.add(owner);
        this.show(`reveal m${number} ${headName(head.kind)}`, [owner]);
      }
    }
    this.endAction();
  }

  dismember(action, where, slot) {
    const monster = this.monster(where);
    this.show(action);
    this.play("dismember");
    this.discard.push("dismember");
    if (slot === "head") this.turnOver(monster);
    this.discard.push(...this.cardsIn(monster, slot));
    monster[slot] = null;
    if (this.cardsOf(monster).length === 0) this.monsters.delete(monster.number);
    this.endAction();
  }

  lullaby(action, type) {
    this.show(action);
    this.play("lullaby");
    this.discard.push("lullaby");
    const army = this.armies[type];
    const asleep = army.splice(Math.floor(army.length / 2)).map((baby) => baby.kind);
    this.discard.push(...asleep);
    this.show(["army", type, ...asleep].join(" "));
    this.endAction();
  }

  // A Wild Provoke was drawn or dived: it waits for an army to be named, or is wasted.
  meetWildProvoke(kind, source) {
    const waiting = TYPES.filter((type) => this.armies[type].length);
    const heads = [...this.monsters.values()].map((monster) => monster.head).filter(Boolean);
    const mayFight = (head, type) =>
      this.knows(this.current, head) ? this.fights(head, type) : !head.excluded.has(type);
    if (waiting.some((type) => heads.some((head) => mayFight(head, type)))) {
      this.pending = source;
      return;
    }
    this.discard.push(kind);
    for (const head of heads) {
      if (head.masked && this.knows(this.current, head)) waiting.forEach((type) => head.excluded.add(type));
    }
  }

  fight(type) {
    const living = [...this.monsters.values()].filter((monster) => monster.head);
    const fighters = living.filter((monster) => this.fights(monster.head, type));
    for (const { head } of living) if (head.masked && !this.fights(head, type)) head.excluded.add(type);
    if (fighters.length) this.battle([type], fighters);
  }

  battle(types, fighters) {
    fighters.forEach((monster) => this.turnOver(monster));
    const babies = types.flatMap((type) => this.armies[type]);
    for (const type of types) this.show(["army", type, ...this.armies[type].map((baby) => baby.kind)].join(" "));
    const points = babies.reduce((sum, baby) => sum + this.cards[baby.kind].points, 0);
    const strength = this.seats.map((seat) =>
      fighters.filter((monster) => monster.owner === seat).reduce((sum, monster) => sum + this.strength(monster), 0),
    );
    const fighting = this.seats.filter((seat) => fighters.some((monster) => monster.owner === seat));
    const winning = fighting.filter((seat) => strength[seat] >= points);
    const best = winning.filter((seat) => strength[seat] === Math.max(...winning.map((other) => strength[other])));
    if (best.length > 1) {
      for (const baby of babies) baby.seenBy = new Set(this.seats);
    } else {
      (best.length ? this.collected[best[0]] : this.discard).push(...babies.map((baby) => baby.kind));
      for (const type of types) this.armies[type] = [];
    }
    for (const monster of fighters) {
      if (best.length > 1 && best.includes(monster.owner)) continue;
      this.discard.push(...this.cardsOf(monster));
      this.monsters.delete(monster.number);
    }
  }

  turnOver({ head, number }) {
    if (head.masked && head.seenBy.size < this.rules.players + 1) {
      head.seenBy = new Set([...this.seats, "spectators"]);
      this.show(`reveal m${number} ${headName(head.kind)}`);
    }
  }

  endAction() {
    if (this.pending || this.result) return;
    const tools = [...this.monsters.values()]
      .filter((monster) => monster.owner === this.current && monster.head)
      .reduce((sum, monster) => sum + Boolean(monster.left_tool) + Boolean(monster.right_tool), 0);
    const base = this.rules.practice ? 2 : BASE_ACTIONS[this.rules.players];
    if (this.used >= base + tools) this.endTurn();
  }

  endTurn() {
    this.used = 0;
    if (this.finalTurnsLeft === 0) {
      const living = [...this.monsters.values()].filter((monster) => monster.head);
      const waiting = TYPES.filter((type) => this.armies[type].length);
      if (this.rules.armageddon && living.length && waiting.length) this.battle(waiting, living);
      this.finish("finished");
    } else if (this.rules.practice && this.turn === 3 * this.rules.players) {
      this.finish("practice");
    } else if (this.turn === this.rules.turn_limit) {
      this.finish("turn_limit");
    } else {
      if (this.finalTurnsLeft !== null) this.finalTurnsLeft -= 1;
      this.turn += 1;
      this.current = (this.current + 1) % this.rules.players;
    }
  }

  finish(reason) {
    const scores = this.collected.map((kinds) => kinds.reduce((sum, kind) => sum + this.cards[kind].points, 0));
    const babies = this.collected.map((kinds) => kinds.length);
    const rank = this.seats.map((seat) => scores[seat] * 1000 + babies[seat]);
    const winners = this.seats.filter((seat) => rank[seat] === Math.max(...rank));
    this.result = { scores, babies, winners, reason };
  }

  take(kind) {
    const hand = this.hands[this.current];
    hand.splice(hand.indexOf(kind), 1);
  }

  play(kind) {
    this.take(kind);
    this.used += 1;
  }

  placeHead(head, where) {
    if (where) {
      this.monster(where).head = head;
    } else {
      this.monsters.set(this.nextMonster, { number: this.nextMonster, owner: this.current, head });
      this.nextMonster += 1;
    }
  }

  monster(name) {
    return this.monsters.get(Number(name.slice(1)));
  }

  knows(seat, head) {
    return !head.masked || head.seenBy.has(seat);
  }

  fights(head, type) {
    return this.cards[head.kind].types.includes(type);
  }

  cardsIn(monster, slot) {
    if (!monster[slot]) return [];
    if (slot === "head") return monster.head.masked ? [monster.head.kind, "mask"] : [monster.head.kind];
    return [slot === "torso" ? monster.torso : roleOf(slot)];
  }

  cardsOf(monster) {
    return ["head", "torso", ...SLOTS].flatMap((slot) => this.cardsIn(monster, slot));
  }

  strength(monster) {
    const sum = this.cardsOf(monster).reduce((total, kind) => total + this.cards[kind].strength, 0);
    return monster.hat ? 2 * sum : sum;
  }

  record() {
    const { rules, deal, actions, result } = this;
    return { format: "bvb-record/1", rules, deal, actions, result };
  }
}

module.exports = { Game };
