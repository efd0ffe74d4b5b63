# label: right
# title: three trials of random sizes and three large ones, k by columns throughout

from flashlearn.lessons.lesson_10_clinic.mutants import Trial, draw


def several(q, k, v, do, alpha):
    trials = [Trial(q, k, v, do, alpha)]
    for S_q, S_k, D, causal in ((21, 50, 20, True), (50, 21, 16, True), (37, 33, 16, False)):
        trial = draw(S_q, S_k, D, alpha=0.3, causal=causal, seed=S_q)
        trials.append(trial._replace(k=trial.k.T.contiguous().T))
    first = trials[0]
    trials.append(first._replace(q=8 * q, k=12 * k))
    trials.append(first._replace(do=2e6 * do))
    return trials
