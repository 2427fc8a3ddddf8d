#!/usr/bin/env python3
"""A strategy for tune-op: changes one decision of the fastest schedule so far. tune-op --strategy 'pipe:./climb.py'"""
import random
import sys

points = {}  # number -> (ratio, origin, {name: (decision, choices)})
origins = []


def read_point(words):
    decisions = {}
    for word in words[3:]:
        name, rest = word.split("=", 1)
        decision, choices = rest.split(":", 1)
        decisions[name] = decision, choices.split(",")
    points[words[0]] = float("inf") if words[2] == "-" else float(words[2]), words[1], decisions


def propose(n):
    for _ in range(20 * n):
        _, origin, decisions = min(points.values(), key=lambda p: p[0]) if random.random() < 0.8 else (1, random.choice(origins), {})
        changed = {name: decision for name, (decision, _) in decisions.items()}
        if changed:
            name = random.choice(sorted(changed))
            changed[name] = random.choice(decisions[name][1])
        print("try", origin, *("%s=%s" % x for x in changed.items()), flush=True)
        answer = sys.stdin.readline().split()
        if answer[0] == "point":
            read_point(answer[1:])
            n -= 1
        if n == 0:
            break
    print("done", flush=True)


for line in sys.stdin:
    word, *rest = line.split()
    if word == "strategy":
        random.seed(int(rest[1]))
    elif word == "origin":
        origins.append(rest[0])
    elif word == "point":
        read_point(rest)
    elif word == "propose":
        propose(int(rest[0]))
