"""One step by its settings: what is compared, how much each token counts, and how often it is learned from."""

from dataclasses import dataclass, replace
from random import Random

import numpy as np
import pytest
import torch

from redqueen.credit.advantages.statistics import GroupRelative, LeaveOneOut
from redqueen.objectives.additive import Sum
from redqueen.objectives.policy_gradient import Cispo, ClippedRatio, Gmpo, Gspo, Reinforce, Sapo
from redqueen.objectives.regularizers import EntropyBonus, ExactKL, KLPenalty, k2, k3
from redqueen.players.tabular import TabularPolicy
from redqueen.settings.learner import Learner
from redqueen.settings.learning_step import LearningStep, objective_of, shares_of
from redqueen.settings.speech import Speech
from redqueen.settings.update import Update
from redqueen.types import Ask, Episode, Group, Likelihoods, Message, Outcome, Reply, Seat, Task, Trajectory, Turn

GRPO = Update(estimator="group", scale="group", loss="ppo", clip_low=0.2, clip_high=0.2, aggregate="token")
SOLVER = Seat("solver")


@dataclass(frozen=True)
class Config:
    learner: Learner = Learner(model="tiny", max_completion_length=10)
    update: Update = Update()
    tasks: int = 4
    attempts: int = 4
    paper = GRPO
    draws_anew = True
    gives_hints = True


def step(**chosen):
    return LearningStep(Config(update=Update(**chosen)), [TabularPolicy()])


def attempt(group, number, right, tokens=2, truncated=False):
    task = Task(f"t{group}", prompt="?")
    said = np.arange(tokens) + 1
    reply = Reply("x", "learner", 0, np.zeros(1, dtype=np.int64), said, np.full(tokens, -0.5), truncated=truncated)
    turn = Turn(Ask(SOLVER, (Message("game", "?"),)), reply)
    return Episode("g", task, 10 * group + number, (turn,), Outcome({SOLVER: 0.0}, {"right": right}), (SOLVER,))


def group(number, *right, **how):
    episodes = tuple(attempt(number, at, value, **how) for at, value in enumerate(right))
    return Group(number, episodes[0].task, episodes)


def trajectories(*groups):
    return [
        Trajectory(each, SOLVER, each.turns, np.array([float(each.outcome.facts["right"])]), {}, found.number)
        for found in groups
        for each in found.attempts
    ]


MIXED, EVEN, RIGHT = group(0, 1, 0, 0, 1), group(1, 0, 0, 0, 0), group(2, 1, 1, 1, 1)


def advantages(given, **chosen):
    return np.concatenate(step(**chosen).estimate(given)).tolist()


def test_estimators_and_scales_have_the_numbers_of_their_papers():
    """By hand: two of four right. The deviation of the group is sqrt(1/3); that of a batch with four wrong ones more
    is sqrt(1.5/7)."""
    own, both = trajectories(MIXED), trajectories(MIXED, EVEN)
    half = 0.5 / np.sqrt(1 / 3)
    assert advantages(own) == pytest.approx([half, -half, -half, half], abs=1e-5)
    assert advantages(own, scale="none") == [0.5, -0.5, -0.5, 0.5]
    assert advantages(own, estimator="leave-one-out") == pytest.approx([2 / 3, -2 / 3, -2 / 3, 2 / 3])
    lite = 0.5 / np.sqrt(1.5 / 7)
    assert advantages(both, scale="batch") == pytest.approx([lite, -lite, -lite, lite, 0, 0, 0, 0], abs=1e-5)
    assert advantages(both, estimator="batch", scale="none") == [0.75, -0.25, -0.25, 0.75] + [-0.25] * 4
    # two tokens each: 16 tokens, whose unbiased variance is 3/15
    spread = np.sqrt(3 / 15)
    assert advantages(both, estimator="batch")[:2] == pytest.approx([0.75 / spread, -0.25 / spread], abs=1e-6)


def test_further_estimators_compare_by_length_by_part_and_with_the_second_best():
    """By hand. By length: 1 in two tokens, 0 in six: a mean of 1/4. By part: the price is the same for all."""
    lengths = [*trajectories(group(0, 1, tokens=2)), *trajectories(group(0, 0, tokens=6))]
    assert advantages(lengths, estimator="opo") == [0.75, -0.25]
    assert advantages(trajectories(group(0, 1, 0, 0)), estimator="pass-at-k") == [1.0, 0.0, 0.0]
    parts = step(estimator="gdpo", scale="none", truncated_loss="price")
    half = 0.5 / np.sqrt(1 / 3)
    assert np.concatenate(parts.estimate(parts.shaped(trajectories(MIXED)))) == pytest.approx(
        [half, -half, -half, half], abs=1e-5
    )


def test_a_moving_baseline_is_kept_from_batch_to_batch():
    moving = step(estimator="moving")
    first = np.concatenate(moving.estimate(trajectories(MIXED)))
    assert first[:2].tolist() == pytest.approx([1.0, -0.05])
    (kept,) = moving.parts
    assert kept.baseline(("g", "solver")) == pytest.approx(0.05 * 0.95**3 + 0.05)


def test_a_critic_is_taught_what_the_batch_came_to():
    with_critic = step(estimator="gae", scale="none")
    own = trajectories(MIXED)
    assert np.concatenate(with_critic.estimate(own)).tolist() == [1.0, 0.0, 0.0, 1.0]  # values start at zero
    found = with_critic.update(Counting(), with_critic.pack(own, [np.zeros(1)] * 4), Random(0))
    assert found["value_loss"] == pytest.approx(0.25)
    assert np.concatenate(with_critic.estimate(own))[0] == pytest.approx(1.0 - 0.1 * 0.5)  # a tenth of the way to 1/2


def test_advantages_are_clipped_and_muted():
    own = trajectories(MIXED)
    assert advantages(own, advantage_clip=0.25) == [0.25, -0.25, -0.25, 0.25]
    cut = trajectories(group(0, 1, 0, 0, 1, truncated=True))
    assert advantages(cut, truncated_loss="mute") == [0.0] * 4


def test_long_replies_are_priced_after_even_groups_are_told():
    """The longest reply has 10 tokens, the last 2 of which cost: a reply of 9 costs 1/2, one of 10 costs 1."""
    long = trajectories(group(0, 1, 0, tokens=9), group(1, 1, 1, tokens=10))
    priced = step(truncated_loss="price", even_groups="drop", scale="none")
    shaped = priced.shaped(long)
    assert [each.rewards.tolist() for each in shaped] == [[0.5], [-0.5], [0.0], [0.0]]
    assert np.concatenate(priced.estimate(shaped)).tolist() == [0.5, -0.5, 0.0, 0.0]
    assert len(priced.pack(shaped, priced.estimate(shaped))) == 2
    assert {name: part.tolist() for name, part in shaped[0].parts.items()} == {"task": [1.0], "overlong": [-0.5]}


def test_a_long_reply_is_priced_by_the_limit_of_its_role_and_one_from_a_list_not_at_all():
    """The solver may write 20 tokens, of which the last four cost, and everybody else 10."""
    learner = Learner(model="tiny", max_completion_length=10, solver=Speech(max_completion_length=20))
    priced = LearningStep(Config(learner, Update(truncated_loss="price")), [learner.build(0)])
    for tokens, price in ((16, 0.0), (18, -0.5), (20, -1.0)):
        (shaped,) = priced.shaped(trajectories(group(0, 0, tokens=tokens)))
        assert shaped.parts["overlong"].tolist() == [price]
    (own,) = trajectories(group(0, 0, tokens=20))
    (turn,) = own.turns
    listed = replace(turn, ask=replace(turn.ask, choices=("x", "y")))
    other = replace(turn, reply=replace(turn.reply, player="somebody"))
    for spoken in (listed, other):
        found = replace(own, turns=(spoken,), episode=replace(own.episode, turns=(spoken,)))
        assert priced.shaped([found])[0].parts["overlong"].tolist() == [0.0]


def test_even_groups_are_kept_dropped_or_replaced():
    every = trajectories(MIXED, EVEN, RIGHT)
    for how, rows, weight in (("keep", 12, 1 / 24), ("drop", 4, 1 / 8), ("refill", 4, 1 / 8)):
        chosen = step(even_groups=how)
        batch = chosen.pack(every, chosen.estimate(every))
        assert len(batch) == rows
        assert batch.loss_weights.max().item() == pytest.approx(weight)


def test_what_is_dropped_is_in_no_mean_and_has_no_advantage():
    """By hand: two of four right are 1/2 from the mean of their own; with four wrong ones it would be 1/4."""
    every = trajectories(MIXED, EVEN)
    own = advantages(every, estimator="batch", scale="none", even_groups="drop")
    assert own == [0.5, -0.5, -0.5, 0.5, 0.0, 0.0, 0.0, 0.0]


def test_an_even_group_is_joined_by_an_earlier_attempt_that_fared_otherwise():
    """By hand: four wrong and one right, from 1/5. The earlier one is compared and packed, and no advantage is
    returned for it."""
    chosen, policy = step(even_groups="replay", scale="none"), Counting()
    chosen.estimate(trajectories(MIXED))
    wrong = [replace(each, episode=replace(each.episode, task=MIXED.task)) for each in trajectories(EVEN)]
    found = chosen.estimate(wrong)
    assert np.concatenate(found).tolist() == pytest.approx([-0.2] * 4)
    batch = chosen.pack(wrong, found)
    assert batch.advantages.amax(dim=1).tolist() == pytest.approx([0.0] * 4 + [0.8])
    policy.version = 5  # it was updated since: the ratio of the earlier one begins at 1
    policy.likelihoods = lambda rows: Likelihoods(torch.full(rows.tokens.shape, -0.25), torch.zeros(rows.tokens.shape))
    seen = []
    policy.update = lambda rows, objective: seen.append(rows) or {}
    assert chosen.update(policy, batch, Random(0)) == {"replayed": 1.0}
    assert seen[0].sampled_logprobs[:, 1].tolist() == [-0.25] * 5
    assert chosen.pack(trajectories(MIXED), chosen.estimate(trajectories(MIXED))).advantages.shape[0] == 4


def test_what_few_groups_teach_is_amplified_up_to_a_bound():
    every = trajectories(MIXED, EVEN, RIGHT)
    assert advantages(every, scale="none", amplify=4.0)[:2] == [1.5, -1.5]
    assert advantages(every, scale="none", amplify=2.0)[:2] == [1.0, -1.0]


def test_groups_outside_the_band_are_not_learned_from():
    mostly = group(3, 1, 1, 1, 0)
    chosen = step(group_band=(0.1, 0.7), scale="none")
    every = trajectories(MIXED, EVEN, mostly)
    found = chosen.estimate(every)
    assert np.concatenate(found).tolist() == [0.5, -0.5, -0.5, 0.5] + [0.0] * 8
    assert len(chosen.pack(every, found)) == 4


def test_refilling_draws_as_many_tasks_as_there_are_even_groups_in_three_rounds_at_most():
    def drawn(*rounds, **chosen):
        groups, asked = [], []
        for missing, more in zip(step(**chosen).rounds(groups, 2), rounds, strict=False):
            asked.append(missing)
            groups += more
        return asked

    assert drawn([EVEN, RIGHT], [EVEN, RIGHT], [EVEN, MIXED], [MIXED], even_groups="refill") == [2, 2, 2]
    assert drawn([EVEN, MIXED], [MIXED], [MIXED], even_groups="refill") == [2, 1]
    assert drawn([EVEN, MIXED], [MIXED], even_groups="drop") == [2]


OWN = np.array([[1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1], [1, 1, 0, 0, 0, 0]], dtype=bool)
OWNERS = np.array([0, 1, 0])  # the third row is of the first one's trajectory


@pytest.mark.parametrize(
    ("aggregate", "short", "long"),
    [("token", 1 / 10, 1 / 10), ("row", 1 / 6, 1 / 18), ("trajectory", 1 / 8, 1 / 12), ("constant", 1 / 30, 1 / 30)],
)
def test_what_counts_the_same(aggregate, short, long):
    weights = shares_of(replace(GRPO, aggregate=aggregate), 10)(OWN, OWNERS)
    assert weights[0, 0] == pytest.approx(short)
    assert weights[1, 0] == pytest.approx(long)
    assert not weights[~OWN].any()


def test_a_sum_of_tokens_is_a_mean_over_rows():
    assert shares_of(replace(GRPO, aggregate="sum"), 10)(OWN, OWNERS)[1].tolist() == pytest.approx([1 / 3] * 6)


def test_losses_are_made_of_the_parts_that_are_named():
    def made(**chosen):
        return objective_of(Update(**chosen).over(GRPO))

    assert made() == ClippedRatio(0.2, 0.2)
    assert made(clip_high=0.28, dual_clip=3.0) == ClippedRatio(0.2, 0.28, 3.0)
    assert made(loss="reinforce") == Reinforce()
    assert made(loss="cispo") == Cispo(4.0)
    assert made(loss="gspo") == Gspo(3e-4, 4e-4)
    assert made(loss="sapo") == Sapo()
    assert made(loss="gmpo", clip_high=0.5) == Gmpo(0.4, 0.5)
    assert made(kl=0.1) == Sum(ClippedRatio(0.2, 0.2), KLPenalty(0.1, k3))
    assert made(kl=0.1, kl_estimator="k2") == Sum(ClippedRatio(0.2, 0.2), KLPenalty(0.1, k2))
    assert made(kl=0.1, kl_estimator="exact") == Sum(ClippedRatio(0.2, 0.2), ExactKL(0.1))
    assert made(kl=0.1, kl_in="reward") == ClippedRatio(0.2, 0.2)
    assert made(entropy=0.01) == Sum(ClippedRatio(0.2, 0.2), EntropyBonus(0.01))


class Counting(TabularPolicy):
    """A policy that notes the sizes of the batches it is updated on."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def update(self, batch, objective):
        self.seen.append((len(batch), round(float(batch.loss_weights.sum()), 6)))
        return {"loss": float(len(self.seen))}


def test_a_batch_is_learned_from_in_passes_of_minibatches_that_are_wholes_of_their_own():
    several, policy, own = step(updates_per_batch=2, minibatches=4), Counting(), trajectories(MIXED, EVEN)
    batch = several.pack(own, several.estimate(own))
    assert several.update(policy, batch, Random(0)) == {"loss": 8.0}
    assert policy.seen == [(2, 1.0)] * 8


def test_an_own_estimator_is_used_until_a_flag_names_another():
    @dataclass(frozen=True)
    class Own(Config):
        paper = Update(loss="ppo", clip_low=0.2, clip_high=0.2)

    own = trajectories(MIXED)
    mine = LearningStep(Own(), [TabularPolicy()], estimate=GroupRelative(divide_by_deviation=False))
    assert np.concatenate(mine.estimate(own)).tolist() == [0.5, -0.5, -0.5, 0.5]
    other = LearningStep(Own(update=Update(estimator="leave-one-out")), [TabularPolicy()], estimate=GroupRelative())
    assert np.concatenate(other.estimate(own)).tolist() == np.concatenate(LeaveOneOut()(own)).tolist()


def test_the_upper_clip_goes_to_its_end_on_a_line_and_goes_on_where_it_was():
    @dataclass(frozen=True)
    class Long(Config):
        steps: int = 5
        paper = GRPO

    def made():
        return LearningStep(Long(update=Update(clip_high=0.2, clip_high_end=0.4, minibatches=2)), [TabularPolicy()])

    class Noting(TabularPolicy):
        def update(self, batch, objective):
            seen.append(objective.high)
            return {}

    def updated(chosen):
        own = trajectories(MIXED)
        chosen.update(Noting(), chosen.pack(own, chosen.estimate(own)), Random(0))

    seen, first = [], made()
    for _ in range(3):
        updated(first)
    again = made()
    for old, new in zip(first.parts, again.parts, strict=True):
        new.restore(old.state())
    updated(again)
    assert seen[::2] == pytest.approx([0.2, 0.25, 0.3, 0.35])


def test_an_entropy_bonus_comes_in_below_its_target():
    """The policy's entropy is 1, then 3, then 1, against a target of 2: 0, 0 (above, where .005 counts nothing), 0
    (.005 less at 3), .005."""
    chosen, policy, found = step(entropy_target=2.0), Counting(), []
    own = trajectories(MIXED)
    for entropy in (1.0, 3.0, 1.0, 1.0):
        policy.likelihoods = lambda rows, e=entropy: Likelihoods(
            torch.full(rows.tokens.shape, -0.5), torch.full(rows.tokens.shape, e)
        )
        found.append(chosen.update(policy, chosen.pack(own, chosen.estimate(own)), Random(0))["entropy_coefficient"])
    assert found == pytest.approx([0.0, 0.0, 0.0, 0.005])
    assert chosen.parts[0].state() == {"coefficients": {"learner": pytest.approx(0.01)}}


def test_the_coefficient_of_the_entropy_bonus_is_noted_where_tokens_are_corrected_too():
    learner = Learner(model="tiny", dtype="bfloat16")
    chosen = LearningStep(Config(learner, Update(entropy_target=2.0, entropy=0.01, correct="tis")), [TabularPolicy()])
    policy, own = Counting(), trajectories(MIXED)
    policy.likelihoods = lambda rows: Likelihoods(
        torch.full(rows.tokens.shape, -0.5), torch.full(rows.tokens.shape, 1.0)
    )
    found = chosen.update(policy, chosen.pack(own, chosen.estimate(own)), Random(0))
    assert found["entropy_coefficient"] == 0.01
    assert found["weight_mean"] == pytest.approx(1.0)


def test_repeats_cost_and_progress_earns():
    """Ten tokens, all different: nothing. A reward of its own, so that GDPO compares it by itself."""
    own = trajectories(MIXED)
    shaped = step(repetition=1.0, progress=0.6).shaped(own)
    assert [each.parts.keys() for each in shaped] == [{"task", "progress", "repetition"}] * 4
    assert [float(each.rewards[0]) for each in shaped] == pytest.approx([1.0, 0.3, 0.3, 1.0])


def test_form_is_paid_where_the_gate_is_open():
    """Without a gate form is paid to all attempts, with a gate of 1 to those that are right."""
    own = trajectories(MIXED)
    assert [float(each.rewards.sum()) for each in step(format_bonus=0.1).shaped(own)] == pytest.approx(
        [1.1, 0.1, 0.1, 1.1]
    )
    gated = step(format_bonus=0.1, format_gate=1.0).shaped(own)
    assert [float(each.parts["format"].sum()) for each in gated] == pytest.approx([0.1, 0.0, 0.0, 0.1])
    both = step(format_bonus=0.1, format_gate=0.2, progress=0.6).shaped(own)  # what progress earns opens no gate
    assert [float(each.rewards.sum()) for each in both] == pytest.approx([1.1, 0.3, 0.3, 1.1])


def test_a_group_that_nobody_solved_is_attempted_again_with_a_hint():
    asked = []

    def attempt(tasks):
        asked.extend(task.facts["hinted"] for task in tasks)
        return [RIGHT]

    def helped(tasks, level):
        return [replace(task, facts={"hinted": level}) for task in tasks]

    chosen = step(even_groups="hint")
    assert chosen.hinted([MIXED, EVEN], helped, attempt) == [MIXED, RIGHT]
    assert asked == [1]
    assert step().hinted([MIXED, EVEN], helped, attempt) == [MIXED, EVEN]
