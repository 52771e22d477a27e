"""A user's own environment of SkyRL Gym in a file."""

from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput


class Echo(BaseTextEnv):
    """Two turns to say the answer."""

    def __init__(self, env_config, extras):
        super().__init__()
        self.truth = extras["reward_spec"]["ground_truth"]

    def step(self, action):
        self.turns += 1
        right = action.strip() == self.truth
        shown = [{"role": "user", "content": "Again."}]
        return BaseTextEnvStepOutput(
            observations=shown, reward=float(right), done=right or self.turns == 2, metadata={}
        )
