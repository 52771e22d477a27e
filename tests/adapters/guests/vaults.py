"""A user's own environments in a file: a class of Gymnasium that is also registered, and one of PettingZoo."""

import gymnasium
from gymnasium import spaces


class Vault(gymnasium.Env):
    """Opens where it is turned to the code and pulled; three tries, and the code is seen."""

    observation_space = spaces.Discrete(3)
    action_space = spaces.MultiDiscrete([3, 2])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.code, self.tries = int(self.np_random.integers(3)), 0
        return self.code, {}

    def step(self, action):
        self.tries += 1
        opened = (int(action[0]), int(action[1])) == (self.code, 1)
        return self.code, float(opened), opened, self.tries == 3, {}


gymnasium.register("Vault-v0", entry_point="vaults:Vault")


def duel():
    """Two rounds in which the left wins by choosing alike; both choose at the same time."""
    from pettingzoo import ParallelEnv

    class Duel(ParallelEnv):
        metadata = {"name": "duel"}  # noqa: RUF012
        possible_agents = ["left", "right"]  # noqa: RUF012
        spaces = {agent: spaces.Discrete(2) for agent in possible_agents}  # noqa: RUF012

        def observation_space(self, agent):
            return self.spaces[agent]

        def action_space(self, agent):
            return self.spaces[agent]

        def reset(self, seed=None, options=None):
            self.agents, self.rounds = list(self.possible_agents), 0
            return dict.fromkeys(self.agents, 0), {agent: {} for agent in self.agents}

        def step(self, actions):
            self.rounds += 1
            left = 1.0 if actions["left"] == actions["right"] else -1.0
            agents, over = self.agents, self.rounds == 2
            self.agents = [] if over else agents
            ends = dict.fromkeys(agents, over), dict.fromkeys(agents, False)
            return dict.fromkeys(agents, 0), {"left": left, "right": -left}, *ends, {agent: {} for agent in agents}

    return Duel()
