def test_x(trained, corpus):
    p = trained.folder.path
    for f in sorted(p.rglob("*")):
        print(f, f.stat().st_size)
    print((p / "train.log").read_text())
    print((p / "meta.json").read_text())
    print((p / "test.scores.json").read_text())
    print((p / "metrics.jsonl").read_text())
    print((p / "test.hyp").read_text())
    print((p / "test.ref.links").read_text())
