"""EVIDENCE: how well models do on rows they have not seen, and what the data support.

::

    folds.py          which rows are tested when: stratified folds, hold-outs, one row at a time
    given.py          folds a user brings along: numbers, a splitter, pairs of indices
    entrants.py       the models that enter, their rules, and the majority they must beat
    passes.py         count once: each fold is counted once, training counts are merges
    refits.py         anybody's classifier, refitted for every fold, in parallel
    encoding.py       the table as scikit-learn's classifiers can take it
    leave_one_out.py  total minus one row, for all rows together
    outcomes.py       what one model said about the rows of one test part
    task.py           what an evaluation works on
    remarks.py        what should be said beside its figures
    run.py            evaluate
    trials.py         Trials: everything that was said, so that any score can be added later
    scores.py         accuracy, log loss, gain ... of one test part
    single.py         scores and intervals where there is one test part only
    intervals.py      how sure a mean over test parts is
    ranking.py        Trials as people read them: records, a sentence, a text, plain data
    verdict.py        the sentence and the table
    growth.py         growing training sets: running merges
    curves.py         learning_curve and Curve
"""
