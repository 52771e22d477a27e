"""What the figures of a run are called in plain words, in what they are counted, and which way is better.

described("kuhn_poker/exploitability").words     "exploitability in kuhn_poker"
described("accuracy/2_digits").better            "higher"
headline(["entropy", "accuracy", "loss"])        "accuracy"
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

Better = Literal["higher", "lower", ""]
SHARE = "share"  # the unit of what lies between 0 and 1


@dataclass(frozen=True)
class Figure:
    """One figure: `group` says what it is about, `better` is empty where neither way is."""

    words: str
    unit: str = ""
    better: Better = ""
    group: str = ""


# Groups in the order in which they are shown, each with its figures: a name, in which * stands for any part and {} in
# the words for that part; the words, the unit, which way is better.
MEASURED, REWARDS, UPDATES, REPLIES, PROPOSALS, OPPONENTS = (
    "Measured",
    "Rewards in training",
    "Updates",
    "Replies",
    "Proposals and tasks",
    "Opponents",
)
OTHER = "Other figures"
GROUPS = (MEASURED, REWARDS, REPLIES, UPDATES, PROPOSALS, OPPONENTS, OTHER)
_TABLE: dict[str, tuple[tuple[str, str, str, Better], ...]] = {
    MEASURED: (
        ("accuracy", "held-out accuracy", SHARE, "higher"),
        ("accuracy_1", "held-out accuracy of the first attempt", SHARE, "higher"),
        ("accuracy_2", "held-out accuracy of the second attempt", SHARE, "higher"),
        ("accuracy_unknown", "held-out answers without a verdict", SHARE, ""),
        ("balanced_accuracy", "balanced accuracy on held-out steps", SHARE, "higher"),
        ("boundary_f1", "F1 of tasks that are called feasible", SHARE, "higher"),
        ("boundary_accuracy", "balanced accuracy of what is called feasible", SHARE, "higher"),
        ("pass@*_unknown", "held-out problems of which nobody knows whether {} attempts solve them", SHARE, ""),
        ("pass@*", "held-out problems solved in {} attempts (pass@{})", SHARE, "higher"),
        ("majority", "held-out accuracy of the majority vote", SHARE, "higher"),
        ("weighted_vote", "held-out accuracy of the weighted vote", SHARE, "higher"),
        ("role_named", "held-out replies that begin with a role", SHARE, ""),
        ("role_right", "held-out replies that begin with the right role", SHARE, "higher"),
        ("success", "held-out tasks done", SHARE, "higher"),
        ("recovery", "tasks done after acts that were drawn at random", SHARE, "higher"),
        ("revised", "of these, attempts in which the agent says that it went wrong", SHARE, ""),
        ("repeated", "of these, attempts in which a view is seen twice", SHARE, "lower"),
        ("needless", "revisions without such acts", SHARE, "lower"),
        ("held_out_score", "mean score on held-out tasks", "score", "higher"),
        ("return", "worth of a talk, by its true labels", "score", "higher"),
        ("deal_rate", "talks that end in a deal", SHARE, "higher"),
        ("team_score", "score of the agents together", "score a game", "higher"),
        ("team_score_unheard", "the same, where the solver hears another match's planner", "score a game", ""),
        ("understood", "patterns named from the speaker's examples", SHARE, "higher"),
        ("understood_random", "patterns named from examples drawn at random", SHARE, "higher"),
        ("diagnosed", "talks that end with the patient's condition", SHARE, "higher"),
        ("questions", "questions of a talk", "", "lower"),
        ("truthful", "answers of the patient that are true", SHARE, "higher"),
        ("found", "talks in which the wanted item is found", SHARE, "higher"),
        ("recommendations", "items that a talk needs", "", "lower"),
        ("true_aspects", "aspects named that are true of their item", SHARE, "higher"),
        ("spy_found", "votes that find the spy", SHARE, "higher"),
        ("spy_found_even_clues", "votes that find a spy whose clues are drawn evenly", SHARE, "higher"),
        ("attack_success", "success of held-out attacks", SHARE, "lower"),
        ("over_refusal", "harmless requests refused", SHARE, "lower"),
        ("benign_compliance", "harmless requests answered", SHARE, "higher"),
        ("exploitability", "exploitability", "score a game", "lower"),
        ("sampled_exploitability", "exploitability, estimated from samples", "score a game", "lower"),
        ("average_exploitability", "exploitability of the average policy", "score a game", "lower"),
        ("late_average_exploitability", "exploitability of the late average policy", "score a game", "lower"),
        ("nash_conv", "NashConv", "score a game", "lower"),
        ("distance", "distance to the equilibrium", "L1", "lower"),
        ("average_distance", "distance of the average policy to the equilibrium", "L1", "lower"),
        ("late_average_distance", "distance of the late average policy to the equilibrium", "L1", "lower"),
        ("minimax_regret_reached", "regret per move in positions met in play", "score", "lower"),
        ("minimax_regret_mean", "regret per move, mean over all positions", "score", "lower"),
        ("minimax_regret_max", "largest regret of a move", "score", "lower"),
        ("minimax_mistakes", "probability of a move that is not best", SHARE, "lower"),
        ("mean_score", "mean score", "score a game", "higher"),
        ("payoff/*", "score against {}", "score a game", "higher"),
        ("points/*", "points won against {}", SHARE, "higher"),
        ("elo/*", "rating of {}, players at random at 0", "Elo", "higher"),
        ("losses/*", "games lost against {}", SHARE, "lower"),
        ("forfeits/*", "games forfeited against {}", SHARE, "lower"),
        ("value", "expected score of the seat, playing itself", "score a game", ""),
        ("self_play/score", "score in self-play", "score a game", "higher"),
        ("against_kind/score", "score against the kindest player", "score a game", "higher"),
        ("against_greedy/score", "score against the greediest player", "score a game", "higher"),
        ("against_*/other", "score of the opponent ({})", "score a game", ""),
        ("self_play/*", "replies in self-play that are {}", SHARE, ""),
        ("wins/last", "held-out replies preferred to those of the start", SHARE, "higher"),
        ("wins/average", "replies of the average policy preferred to those of the start", SHARE, "higher"),
        ("wins/length_controlled", "the same between replies of equal length", SHARE, "higher"),
        ("wins/chosen_length", "length of held-out replies that are preferred", "characters", ""),
        ("wins/rejected_length", "length of held-out replies that are not preferred", "characters", ""),
        ("held_out/preference_accuracy", "held-out pairs ranked as preferred", SHARE, "higher"),
        ("held_out/preference_margin", "preference margin on held-out pairs", "nats", "higher"),
        ("held_out/chosen_ratio", "log-ratio of held-out chosen replies", "nats", ""),
        ("held_out/rejected_ratio", "log-ratio of held-out rejected replies", "nats", ""),
        ("unasked_logprob", "log-probability of replies to questions never asked", "nats a token", "higher"),
        ("coverage", "log-probability of held-out gold answers", "nats a token", "higher"),
        ("held_out/judge_auc", "right held-out answers scored above wrong ones", SHARE, "higher"),
        ("held_out/pair_accuracy", "held-out pairs in which the right answer is preferred", SHARE, "higher"),
        ("held_out/pair_consistency", "held-out pairs judged alike in both orders", SHARE, "higher"),
        ("held_out/pair_unread", "verdicts on held-out pairs that could not be read", SHARE, "lower"),
        ("held_out/kept_all", "held-out answers that are right", SHARE, ""),
        ("held_out/kept_half", "right ones in the better scored half of held-out answers", SHARE, "higher"),
        ("held_out/best_of@*", "the best scored of {} held-out attempts is right", SHARE, "higher"),
        ("kl_from_start", "KL divergence of the policy from its start", "nats a reply", ""),
        ("data_kl", "KL divergence of the policy from the data", "nats", "lower"),
        ("told_apart", "replies told from the data by the best judge", SHARE, "lower"),
        ("gain", "gain, of a second attempt over the first or of a talk", SHARE, "higher"),
        ("wrong_to_right", "wrong first attempts put right", SHARE, "higher"),
        ("right_to_wrong", "right first attempts spoiled", SHARE, "lower"),
        ("false_alarm", "right steps called wrong", SHARE, "lower"),
        ("unread", "verdicts that could not be read", SHARE, "lower"),
        ("verification", "self-verification", SHARE, ""),
        ("perplexity", "perplexity", "", "lower"),
        ("regret", "regret", "score", "lower"),
    ),
    REWARDS: (("reward/*", "mean reward, {}", "", "higher"),),
    REPLIES: (
        ("completion_length", "reply length", "tokens", ""),
        ("reply_length", "length of held-out replies", "tokens", ""),
        ("malformed", "replies in which no answer could be read", SHARE, "lower"),
        ("malformed_replies", "measured replies in which no answer could be read", SHARE, "lower"),
        ("illegal_replies", "measured replies that are no legal move", SHARE, "lower"),
        ("unheard", "states of which no legal reply was sampled", SHARE, "lower"),
        ("truncated", "replies cut off at the length limit", SHARE, "lower"),
        ("demonstrations/too_long", "demonstrated replies beyond the length limit", SHARE, "lower"),
        ("forfeits", "games forfeited", SHARE, "lower"),
        ("turns_per_episode", "turns per episode", "", ""),
        ("episodes", "episodes of the step", "", ""),
        ("attempts/without_verdict", "attempts without a verdict", "", ""),
        ("distinct_2grams", "distinct 2-grams", SHARE, ""),
        ("repeated_4grams", "4-grams repeated within a reply", SHARE, "lower"),
    ),
    UPDATES: (
        ("train/*", "in training: {}", "", ""),
        ("loss", "loss", "", ""),
        ("policy_loss", "policy loss", "", ""),
        ("critical_turns", "turns of a talk that the judge calls critical", SHARE, ""),
        ("telling", "choices of an example that matter to the listener", SHARE, ""),
        ("imitation_loss", "imitation loss", "nats a token", ""),
        ("preference_loss", "preference loss", "", ""),
        ("preference_accuracy", "training pairs ranked as preferred", SHARE, ""),
        ("preference_margin", "preference margin in training", "nats", ""),
        ("margin_a_token", "preference margin in training", "nats a token", ""),
        ("chosen_ratio", "log-ratio of chosen replies", "nats", ""),
        ("chosen_length", "length of chosen replies", "tokens", ""),
        ("rejected_length", "length of rejected replies", "tokens", ""),
        ("rejected_ratio", "log-ratio of rejected replies", "nats", ""),
        ("value_loss", "value loss", "", ""),
        ("entropy_loss", "entropy bonus in the loss", "", ""),
        ("entropy", "entropy of the policy", "nats a token", ""),
        ("gradient_norm", "gradient norm", "", ""),
        ("natural_steps", "natural gradient steps that were kept", "an update", ""),
        ("loss_after", "loss after the update", "", ""),
        ("damping", "damping of the natural gradient", "", ""),
        ("step_size", "step size of mirror descent", "", ""),
        ("approx_kl", "KL divergence of the update (approximate)", "nats a token", ""),
        ("kl", "KL divergence", "nats a token", ""),
        ("reference_kl", "KL divergence from the reference", "nats a token", ""),
        ("reference_kl_loss", "KL term of the loss", "", ""),
        ("clip_fraction", "tokens clipped", SHARE, ""),
        ("dual_clip_fraction", "tokens clipped by the dual clip", SHARE, ""),
        ("value_clip_fraction", "values clipped", SHARE, ""),
        ("round/pairs", "pairs (or replies) of the iteration", "", ""),
        ("round/passes", "passes over them begun", "", ""),
        ("round/stopped", "iteration stopped by a ceiling", "", ""),
        ("round/equal", "pairs of equal texts, left out", "", ""),
        ("pairs_kept", "pairs of different replies that are learned from", SHARE, ""),
        ("advised", "prompts that were asked again with advice", SHARE, ""),
        ("decisive", "kept pairs of a right and a wrong reply", SHARE, ""),
        ("pairs_right", "of these, pairs that prefer the right one", SHARE, "higher"),
        ("drawn_right", "the same of all pairs, without the filter", SHARE, ""),
        ("knobs/temperature", "temperature that was chosen", "", ""),
        ("knobs/threshold", "score above which replies are kept", "", ""),
        ("knobs/most", "replies of a task that are kept at most", "", ""),
        ("balance", "balance of right and unlike replies", "", "higher"),
        ("selected", "replies kept of a task", "", ""),
        ("selected_right", "kept replies that are right", SHARE, "higher"),
        ("one_way", "tasks with at most one right reply kept", SHARE, ""),
        ("led_on", "interventions that led to the answer", SHARE, "higher"),
        ("leaking", "interventions that give the answer away", SHARE, "lower"),
        ("waiting", "interventions that wait for an update", "", ""),
        ("one_line", "attempts that end after one line and are not right", SHARE, "lower"),
        ("place", "where interventions stand (1 is the last step)", SHARE, ""),
        ("written", "proposals that became new tasks", SHARE, "higher"),
        ("consistency", "share of the commonest verdict or answer", SHARE, ""),
        ("feasible", "tasks that are called feasible", SHARE, ""),
        ("as_intended", "tasks whose verdict is as intended", SHARE, "higher"),
        ("solutions_earn", "what solutions earn in discussions", SHARE, ""),
        ("score_right", "scores that agree with the check", SHARE, "higher"),
        ("asked", "questions to a character", "", ""),
        ("contrastive", "questions that only another character can answer", SHARE, ""),
        ("talks_kept", "talks that are learned from", SHARE, "higher"),
        ("kept_right", "of these, talks that end with the patient's condition", SHARE, "higher"),
        ("overrated", "rating of the condition that counts, above an honest one", "points of 10", "lower"),
        ("found_in_play", "talks of a round in which the wanted item is found", SHARE, "higher"),
        ("kept_share", "replies that are learned from", SHARE, "higher"),
        ("paired", "questions with a right and a wrong answer", SHARE, ""),
        ("told", "reasons that end with the known verdict", SHARE, ""),
        ("withstood", "of these, reasons that fit no other verdict", SHARE, ""),
        ("likeliest", "of these, reasons after which the verdict is the likeliest", SHARE, ""),
        ("retold", "of those that end with it, reasons that were told again", SHARE, ""),
        ("aided_logprob", "log-probability of replies with the profile in view", "nats a token", ""),
        ("plain_logprob", "log-probability of the same replies without it", "nats a token", "higher"),
        ("all_failed", "groups that nobody solved", SHARE, ""),
        ("explained", "known answers that were explained", SHARE, "higher"),
        ("answer_first", "explanations with the answer before their last line", SHARE, "lower"),
        ("explanation_logprob", "log-probability of explanations without the answer in view", "nats a token", ""),
        ("attempt_logprob", "log-probability of attempts at the same questions", "nats a token", ""),
        ("answer_after_explanation", "log-probability of the answer after an explanation", "nats a token", "higher"),
        ("answer_after_attempt", "log-probability of the same answer after an own attempt", "nats a token", ""),
        ("rows_without_signal", "attempts with zero advantage", "", ""),
        ("sampler_mismatch_mean", "difference of sampler and learner, mean", "nats a token", "lower"),
        ("sampler_mismatch_max", "difference of sampler and learner, largest", "nats a token", "lower"),
        ("learning_rate", "learning rate", "", ""),
    ),
    PROPOSALS: (
        ("proposals/valid_share", "valid proposals", SHARE, "higher"),
        ("proposals/refused/*", "proposals refused: {}", SHARE, ""),
        ("proposals", "proposals", "", ""),
        ("tasks/held", "tasks in the buffer", "", ""),
        ("tasks/solved_never", "tasks in the buffer never solved", SHARE, ""),
        ("tasks/solved_always", "tasks in the buffer always solved", SHARE, ""),
        ("tasks", "tasks in the buffer", "", ""),
        ("buffer", "tasks in the buffer", "", ""),
        ("pool", "tasks in the pool", "", ""),
        ("labels", "majority labels that are right", SHARE, "higher"),
        ("judge_unparsed", "verdicts of the judge that could not be read", SHARE, "lower"),
        ("oracle/unread", "comparisons on which the oracle has no verdict", SHARE, "lower"),
        ("ranking/groups", "tasks whose attempts the judge ranked", "", ""),
        ("judge_seen", "replies that the judge saw", "", ""),
        ("bandit/chance/*", "probability of drawing {}", SHARE, ""),
        ("bandit/value/*", "learning progress on {}", "", ""),
    ),
    OPPONENTS: (
        ("win_rate/*", "win rate against {}", SHARE, "higher"),
        ("rating/over_past", "rating above past selves", "Elo", "higher"),
        ("rating", "rating", "Elo", "higher"),
        ("league", "opponents in the league", "", ""),
    ),
}

# The figure that a report opens with is the first of these that the run measured. What they are, for the reader:
RULE = (
    "the first of these that the run measured: held-out accuracy, success of attacks, score on held-out tasks, worth "
    "of talks, spies found, conditions found, items found, mean score, exploitability, regret, wins against the "
    "start, held-out pairs ranked as preferred, score against a fixed player or points won "
    "from it, mean reward in training"
)
_HEADLINES = (
    "accuracy",
    "accuracy_2",
    "balanced_accuracy",
    "attack_success",
    "held_out_score",
    "return",
    "spy_found",
    "understood",
    "diagnosed",
    "found",
    "team_score",
    "mean_score",
    "exploitability",
    "sampled_exploitability",
    "minimax_regret_reached",
    "wins/last",
    "held_out/preference_accuracy",
    "held_out/judge_auc",
    "held_out/pair_accuracy",
    "held_out/kept_half",
    "unasked_logprob",
    "payoff/*",
    "points/random",
    "self_play/score",
    "reward/solver",
    "reward/*",
)
RANKED = "ranking/groups"  # whose attempts are compared with each other: one half wins, whatever was learned


@cache
def described(name: str) -> Figure:
    """What a figure is. A name has its own words, those of its beginning ("accuracy/hard": "held-out accuracy, hard")
    or those of its end ("solver/loss": "loss of solver"); an unknown one keeps its name."""
    if name.endswith("_unknown") and _named(name) is None:
        known = described(name.removesuffix("_unknown"))
        return replace(known, words=f"{known.words}: without a verdict", unit=SHARE, better="")
    parts = name.split("/")
    for start in range(len(parts)):
        for end in range(len(parts), start, -1):
            found = _named("/".join(parts[start:end]))
            if found is not None:
                above, below = "/".join(parts[:start]), " / ".join(parts[end:])
                words = found.words + (f", {below.replace('_', ' ')}" if below else "")
                return replace(found, words=f"{words} ({above.replace('_', ' ')})" if above else words)
    return Figure(name.replace("_", " "), group=OTHER)


def headline(names: Iterable[str]) -> str:
    """The name of the figure that says most about a run, by `RULE`; "" where it has none of these."""
    known = [name for name in names if not name.endswith(("_low", "_high"))]  # the bounds of an interval
    if RANKED in known:
        known = [name for name in known if not name.startswith("reward/")]
    for wanted in _HEADLINES:
        for name in known:
            if _matched(wanted, name) or _matched(f"*/{wanted}", name):
                return name
    return ""


def _named(name: str) -> Figure | None:
    for group, rows in _TABLE.items():
        for pattern, words, unit, better in rows:
            if found := _matched(pattern, name):
                return Figure(words.replace("{}", (found.groups() or ("",))[0].replace("_", " ")), unit, better, group)
    return None


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    anything = "([^/]+)" if "@" in pattern else "(.+)"  # "pass@8/hard" is of 8 attempts
    return re.compile(re.escape(pattern).replace(r"\*", anything))


def _matched(pattern: str, name: str) -> re.Match[str] | None:
    return _pattern(pattern).fullmatch(name)
