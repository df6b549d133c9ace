"""The command that makes records from noisy answers: synthesize.

Reads: arguments.  Gives: a file of records.
"""

from residualplanner.shell.cli import options as opt
from residualplanner.shell.cli.expected_files import ANSWERS, SPEC, require_file
from residualplanner.shell.cli.option_groups import Messages, with_groups


@with_groups
def synthesize(  # noqa: PLR0913
    paths: opt.MeasurementFiles,
    file: opt.NewRecords,
    *,
    records: opt.RecordCount = None,
    method: opt.RecordsMethod = "controlled",
    seed: opt.RecordsSeed = 0,
    bins: opt.ShownBins = "labels",
    spec: opt.FactsSpec = None,
    dry_run: opt.DryRun = False,
    messages: Messages,
) -> None:
    """Make synthetic records whose tables are near those of a release, as often as you like, at no further cost.

    No record is that of a person. Beside the records comes a JSON file that says what they are. What is printed tells
    how well their tables fit what was measured.
    """
    for path in paths:
        require_file(path, "synthesize", ANSWERS)
    if spec is not None:
        require_file(spec, "synthesize", SPEC)
    from residualplanner.shell.cli.replacing import require_free_records_path
    from residualplanner.shell.cli.spec.adjustments import WantedOutput
    from residualplanner.shell.cli.spec.file import read_spec
    from residualplanner.shell.cli.spec.output import OutputTable
    from residualplanner.shell.cli.synthesizing import WantedRecords, rehearse_synthesize, run_synthesize

    require_free_records_path(file)
    facts = WantedOutput(OutputTable() if spec is None else read_spec(spec).output, spec)
    run = rehearse_synthesize if dry_run else run_synthesize
    run(paths, file, WantedRecords(facts, records, method, seed, bins), messages.output)
