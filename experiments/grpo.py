"""GRPO on a file of problems: with its answers, by majority, on shuffled answers, TRL's; by a judge."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from experiments._starts import imitating
from redqueen.credit.outcomes import vote
from redqueen.curricula.held_out import HELD_OUT
from redqueen.measures.accuracy import HeldOut
from redqueen.play.groups import attempts
from redqueen.players.transformer.loading import embedded_folder
from redqueen.protocols import Policy
from redqueen.questions.asking import SOLVE, evenly
from redqueen.questions.catalogue import find_questions
from redqueen.questions.dataset import Dataset
from redqueen.questions.labels import labels_right
from redqueen.recipes.credit.grpo import recipe
from redqueen.runs import sources
from redqueen.settings.learner import Learner
from redqueen.trials.controls import Paid, paid_by, swapped
from redqueen.trials.experiment import Difference, Experiment, Training, Trial, versus
from redqueen.trials.starts import warmed
from redqueen.types import Ask, Metrics, Reply, Task

FILE = Path(__file__).parents[1] / "examples" / "arithmetic.jsonl"
QUESTIONS = f"dataset:path={FILE},held_out=0.3"
SHUFFLED = f"{Path(__file__)}:Shuffled"


@dataclass(frozen=True)
class Shuffled:
    """The same problems, each of those for training with the answer of another."""

    own: Dataset = field(default_factory=lambda: Dataset(str(FILE), held_out=0.3))

    @property
    def name(self) -> str:
        return self.own.name

    @property
    def levels(self) -> tuple[str, ...]:
        return self.own.levels

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        drawn = self.own.problems(level, count, rng)
        if level == HELD_OUT:
            return drawn
        answers = [task.answer for task in self.own.problems(level, count, rng)]
        return [replace(task, answer=answer) for task, answer in zip(drawn, answers, strict=True)]

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool | None]:
        return self.own.right(tasks, answers)

    def extracted(self, tasks: Sequence[Task], replies: Sequence[str]) -> list[str]:
        return self.own.extracted(tasks, replies)


@dataclass(frozen=True)
class Method:
    """GRPO here, or TRL's GRPOTrainer on as many prompts and replies, otherwise with its own settings."""

    grpo: recipe.Config
    by_trl: bool = False
    known: str = QUESTIONS  # the question set that measures, with the right answers


@dataclass(frozen=True)
class OneSeed:
    """One training, and the majority vote of the start on the held-out problems: the room of `--answers majority`."""

    def __call__(self, config: Method, seed: int, folder: Path) -> Trial:
        if not config.by_trl:
            return Training(recipe.train, evaluate_every=20, read=voted(config))(config.grpo, seed, folder)
        trained, seconds = by_trl(config, seed, folder)
        episodes = config.grpo.tasks * config.grpo.attempts
        lines = [{"episodes": episodes, "time": {"step": spent, "measure": 0.0}} for spent in seconds]
        lines[0] |= measure(config, config.grpo.learner.build_model(0), seed)()
        return Trial(tuple(lines), measure(config, trained, seed)(), updates=len(lines))


def seconds_a_step(trial: Trial) -> float:
    """The median over the steps, without what was measured in them."""
    return float(median(line["time"]["step"] - line["time"]["measure"] for line in trial.lines))


def measure(config: Method, policy: Policy, seed: int) -> HeldOut:
    """The held-out problems of a seed, the same for every variant."""
    return HeldOut(find_questions(config.known), policy, config.grpo.problems, seed=seed)


def voted(config: Method) -> Callable[[Policy, int], Metrics]:
    """A function that returns the share of the held-out problems on which the start's majority is right."""

    def read(policy: Policy, seed: int) -> Metrics:
        start = config.grpo.learner.build_model(0)
        tests = [task for level in measure(config, start, seed).tests.values() for task in level]
        votes = [vote(group) for group in attempts(SOLVE, tests, start, config.grpo.attempts, Random(seed))]
        right = labels_right(find_questions(config.known), tests, votes)
        return {"majority of the start": sum(map(bool, right)) / len(right)}

    return read


def by_trl(method: Method, seed: int, folder: Path) -> tuple[Policy, list[float]]:
    """The model after TRL's GRPOTrainer with the same learning rate, adapter, prompts a step and replies a prompt; and
    the seconds of each step. A model without a chat template is shown its prompts as they stand here."""
    from datasets import Dataset as Rows
    from peft import LoraConfig
    from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    seconds: list[float] = []

    class Clock(TrainerCallback):
        def on_step_begin(self, *given: Any, **rest: Any) -> None:
            self.began = time.perf_counter()

        def on_step_end(self, *given: Any, **rest: Any) -> None:
            seconds.append(time.perf_counter() - self.began)

    config, questions = method.grpo, find_questions(method.known)
    start = config.learner.build_model(0)
    tasks = evenly(questions, config.steps * config.tasks, Random(seed), measure(method, start, seed).tests)
    origin = str(embedded_folder()) if config.learner.model == "smollm2-135m" else config.learner.model
    tokenizer = AutoTokenizer.from_pretrained(origin)
    if tokenizer.chat_template:
        shown: list[Any] = [[{"role": "user", "content": task.prompt}] for task in tasks]
    else:
        once = attempts(SOLVE, tasks, start, 1, Random(seed))
        shown = [tokenizer.decode(group.attempts[0].turns[0].reply.prompt_tokens) for group in once]
    known = {str(prompt): task for prompt, task in zip(shown, tasks, strict=True)}

    def reward(prompts: list[Any], completions: list[Any], **rest: object) -> list[float]:
        asked = [known[str(prompt)] for prompt in prompts]
        said = [each if isinstance(each, str) else each[0]["content"] for each in completions]
        return [float(bool(right)) for right in questions.right(asked, said)]

    adapter = None
    if config.learner.lora_rank != 0:
        adapter = LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM")
    model = AutoModelForCausalLM.from_pretrained(origin)
    trainer = GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        reward_funcs=reward,
        args=GRPOConfig(
            output_dir=str(folder / "trl"),
            per_device_train_batch_size=config.tasks * config.attempts,
            num_generations=config.attempts,
            max_completion_length=config.learner.max_completion_length or 64,
            max_steps=config.steps,
            learning_rate=config.learner.learning_rate or 1e-4,
            lr_scheduler_type="constant",
            temperature=1.0,
            seed=seed,
            use_cpu=True,
            report_to=[],
            save_strategy="no",
            disable_tqdm=True,
        ),
        train_dataset=Rows.from_list([{"prompt": prompt} for prompt in shown]),
        peft_config=adapter,
        callbacks=[Clock()],
    )
    trainer.train()
    (trainer.model.merge_and_unload() if adapter else trainer.model).save_pretrained(folder / "trained")
    trainer.processing_class.save_pretrained(folder / "trained")
    merged = replace(config.learner, model=str(folder / "trained"), lora_rank=0, dtype="float32")
    return merged.build_model(0), seconds


OWN_FILE = Experiment(
    title="GRPO on a file of problems",
    asked="How much does SmolLM2 learn from 550 problems of reasoning-gym, with their answers and without?",
    trial=OneSeed(),
    config=Method(
        recipe.Config(
            Learner(model="smollm2-135m", max_completion_length=32, learning_rate=2e-4), questions=QUESTIONS, steps=50
        )
    ),
    variants={
        "answers": {},
        "majority": {"grpo.answers": "majority"},
        "shuffled answers": {"grpo.questions": SHUFFLED},
    },
    figures=("first accuracy", "accuracy", "pass@8", "majority of the start"),
    compared=versus("answers", ("majority", "shuffled answers"), ("accuracy",)),
    controls=("shuffled answers",),
    seeds=3,
    first_seed=2,
    notes=(
        "Problems that measure are 64 of the 165 that are held out, drawn anew for each seed.",
        "The rate and the length of replies were chosen on seeds 0 and 1, which are left out.",
    ),
)
BESIDE_TRL = replace(
    OWN_FILE,
    title="GRPO beside TRL's",
    asked="Does TRL's GRPOTrainer learn as much from as many samples of the same problems?",
    config=replace(
        OWN_FILE.config,
        grpo=replace(
            OWN_FILE.config.grpo, steps=60, tasks=4, learner=replace(OWN_FILE.config.grpo.learner, dtype="bfloat16")
        ),
    ),
    variants={"Red Queen": {}, "TRL": {"by_trl": True}},
    figures=("accuracy", "pass@8", "seconds a step"),
    derived={"seconds a step": seconds_a_step},
    compared=versus("Red Queen", ("TRL",), ("accuracy",)),
    controls=("TRL",),
    notes=(
        "TRL samples as many prompts and replies and takes as many updates, with an adapter of the same rank and the "
        "same learning rate, and otherwise its own settings. Side by side, without a claim.",
        "TRL computes in its own default, bfloat16 over float32 weights; here the weights are bfloat16, and the "
        "optimiser keeps a float32 copy of those it updates. One thread each, two trainings at once on two cores.",
        *OWN_FILE.notes,
    ),
)


SUMS = "sums:digits=2"
_ASKED = re.compile(r"What is (\d+)\+(\d+)\?")
_ANSWER = re.compile(r"(?s)Answer (\d+):\n(=+\w+=+)\n(.*?)\n\2")


@dataclass(frozen=True)
class Ranking:
    """A judge of sums that ranks what it is shown: right answers before wrong ones, but each answer is taken for what
    it is with the chance `skill` alone, and else for either. Equals stand in an order of chance, as judges put them."""

    skill: float
    name: str = "judge"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._order(ask.messages[-1].text, Random(ask.seed)), self.name) for ask in asks]

    def _order(self, shown: str, rng: Random) -> str:
        found = _ASKED.search(shown)
        assert found is not None, "a judge of sums is shown a sum"
        right = str(int(found[1]) + int(found[2]))[::-1]
        answers = {number: text.strip() for number, _, text in _ANSWER.findall(shown)}
        worth = {
            number: (text == right if rng.random() < self.skill else rng.random() < 0.5, rng.random())
            for number, text in answers.items()
        }
        return " > ".join(sorted(worth, key=lambda number: worth[number], reverse=True))


@dataclass(frozen=True)
class Judged:
    """GRPO whose judge has this skill, and what attempts are paid by."""

    grpo: recipe.Config
    skill: float = 0.9
    paid: Paid = "its own"


@dataclass(frozen=True)
class OneSeedJudged:
    def __call__(self, config: Judged, seed: int, folder: Path) -> Trial:
        with (
            swapped(sources, {"judge_of": lambda *told: Ranking(config.skill)}),
            swapped(recipe, {"score": paid_by(config.paid, config.grpo)}),
        ):
            return Training(recipe.train, evaluate_every=20)(config.grpo, seed, folder)


SAME_AS_TRL = replace(
    BESIDE_TRL,
    title="GRPO beside TRL's, ten seeds of a tiny transformer",
    asked="Is what GRPO learns here the same as with TRL's trainer, to .05 of the held-out problems?",
    config=Method(
        recipe.Config(warmed(3e-4, max_completion_length=8), questions=SUMS, steps=150, tasks=16, attempts=8),
        known=SUMS,
    ),
    starts={"grpo.learner.model": imitating(SUMS, 8, steps=1200, rest=100)},
    figures=("first accuracy", "accuracy", "pass@8", "seconds a step"),
    compared=(
        *versus("Red Queen", ("TRL",), ("accuracy",)),
        *(Difference(each, each, "accuracy", "first accuracy") for each in ("Red Queen", "TRL")),
    ),
    seeds=10,
    notes=(
        "As many prompts, replies and updates of all weights in float32 at the same learning rate; TRL's own settings "
        "otherwise. The same if the interval of the difference lies within .05 of 0.",
        "The steps of imitation and of training were chosen on seeds 100 and 101, by what Red Queen's learns.",
    ),
)
JUDGE, WEAK, BLIND, DEALT = "a judge, skill .9", "a judge, skill .5", "a judge that guesses", "rewards dealt anew"
RANKED = Experiment(
    title="GRPO by a judge who ranks the attempts in one call",
    asked="Does a model learn sums from the ranking of its attempts, and how much less than from their answers?",
    trial=OneSeedJudged(),
    config=Judged(
        recipe.Config(
            warmed(3e-4, max_completion_length=8),
            questions=SUMS,
            answers="judge:frozen",
            steps=80,
            tasks=16,
            attempts=8,
        )
    ),
    starts={"grpo.learner.model": imitating(SUMS, 8, model="tiny:hidden=96,layers=3")},
    variants={
        JUDGE: {},
        WEAK: {"skill": 0.5},
        BLIND: {"skill": 0.0},
        DEALT: {"paid": "dealt anew"},
        "the majority": {"grpo.answers": "majority"},
        "known answers": {"grpo.answers": "known"},
    },
    figures=("first accuracy", "accuracy", "pass@8", "late judge_auc", "first judge/calls", "late completion_length"),
    compared=(
        *versus(JUDGE, (WEAK, BLIND, DEALT, "the majority", "known answers"), ("accuracy",)),
        Difference(JUDGE, JUDGE, "accuracy", "first accuracy"),
    ),
    controls=(BLIND, DEALT),
    seeds=5,
    notes=(
        "Sums of up to two digits, after imitation of solutions of which half are added as if nothing were carried. "
        "The judge is a program that takes each answer for what it is with the chance given and for either else, and "
        "puts all in one order, equals by chance.",
        "Late: the mean of the last fifth of the figures.",
    ),
)
