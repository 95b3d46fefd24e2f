"""Draws of every distribution that gives integers, and some that do not, from fixed seeds. `distributions.json` is what NumPy's own wheel
for x86_64 says to this. The value of the last expression: one line a distribution."""

import json

import numpy as np

rng = np.random.default_rng(7)
old = np.random.RandomState(7)

DRAWS = {
    "Generator.binomial": lambda: rng.binomial(100, 0.3, 8),
    "Generator.negative_binomial": lambda: rng.negative_binomial(5, 0.2, 8),
    "Generator.poisson": lambda: rng.poisson(20.0, 8),
    "Generator.zipf": lambda: rng.zipf(2.5, 8),
    "Generator.geometric": lambda: rng.geometric(0.05, 8),
    "Generator.hypergeometric": lambda: rng.hypergeometric(60, 40, 30, 8),
    "Generator.logseries": lambda: rng.logseries(0.9, 8),
    "Generator.multinomial": lambda: rng.multinomial(50, [0.2, 0.3, 0.5], 3),
    "Generator.multivariate_hypergeometric": lambda: rng.multivariate_hypergeometric([30, 20, 10], 25, 3),
    "Generator.integers": lambda: rng.integers(0, 1 << 40, 8),
    "RandomState.binomial": lambda: old.binomial(100, 0.3, 8),
    "RandomState.negative_binomial": lambda: old.negative_binomial(5, 0.2, 8),
    "RandomState.poisson": lambda: old.poisson(20.0, 8),
    "RandomState.zipf": lambda: old.zipf(2.5, 8),
    "RandomState.geometric": lambda: old.geometric(0.05, 8),
    "RandomState.hypergeometric": lambda: old.hypergeometric(60, 40, 30, 8),
    "RandomState.logseries": lambda: old.logseries(0.9, 8),
    "RandomState.multinomial": lambda: old.multinomial(50, [0.2, 0.3, 0.5], 3),
    "RandomState.randint": lambda: old.randint(0, 1 << 30, 8),
    "Generator.normal": lambda: rng.normal(size=4),
    "Generator.gamma": lambda: rng.gamma(2.0, size=4),
    "Generator.permutation": lambda: rng.permutation(12),
    "RandomState.normal": lambda: old.normal(size=4),
    "RandomState.permutation": lambda: old.permutation(12),
}

"\n".join(f"{name} {json.dumps(draw().tolist())}" for name, draw in DRAWS.items())
