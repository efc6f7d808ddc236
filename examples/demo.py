"""The main job on bundled data: read, learn, explain, decide in money, write a report."""

from pathlib import Path

import countwise as cw

table = cw.read("sample:credit-g")
gain = cw.GainMatrix.from_dict({"good": {"good": 0, "bad": -1}, "bad": {"good": -5, "bad": 0}})
plain = cw.Decide(cw.NaiveBayes()).fit(table)
careful = cw.Decide(cw.NaiveBayes(), cw.ExpectedGain(gain)).fit(table)

lines = ["# Credit, decided", "", table.describe(), "", *gain.sentences(), ""]
for name, model in (("most probable class", plain), ("largest expected gain", careful)):
    earned = model.expected_gain(table, gain=gain)
    lines.append(f"- {name}: {earned:+.3f} a customer on the training rows")
lines += [
    "",
    "Why the second customer is what it is:",
    "",
    careful.model_.explain(table.take([1])).describe(),
]

folder = Path("demo")
folder.mkdir(exist_ok=True)
report = folder / "report.md"
report.write_text("\n".join(lines) + "\n", encoding="utf-8")
print("\n".join(lines))
print(f"\nThe report is in {report}")
