import { Document, type YAMLSeq } from 'yaml';
import { mergeCommand, type ShardedSweep, shardCommand, shardFile } from './job.ts';

/** Maximum number of jobs of a matrix (docs.github.com, "Running variations of jobs in a workflow"). */
export const MOST_MATRIX_JOBS = 256;

/** Major version of Node that the jobs install: the oldest that orrery supports. */
const NODE = 20;

const prepared = [
  { uses: 'actions/checkout@v4' },
  { uses: 'actions/setup-node@v4', with: { 'node-version': NODE } },
  { run: 'npm ci' },
];

/** A sweep as a GitHub Actions workflow, in YAML: a matrix job for each shard, and a job that merges their results. */
export function githubWorkflow(s: ShardedSweep): string {
  // GitHub expands this before the shell reads the line (docs.github.com, "Contexts reference").
  const shard = '${{ matrix.shard }}';
  const workflow = {
    name: s.name,
    on: 'workflow_dispatch',
    permissions: { contents: 'read' },
    jobs: {
      shard: {
        'runs-on': 'ubuntu-latest',
        strategy: {
          'fail-fast': false,
          matrix: { shard: Array.from({ length: s.shards }, (_, i) => i + 1) },
        },
        steps: [
          ...prepared,
          { run: shardCommand(s, shard) },
          {
            uses: 'actions/upload-artifact@v4',
            with: { name: `${s.name}-${shard}`, path: shardFile(s, shard), 'if-no-files-found': 'error' },
          },
        ],
      },
      merge: {
        needs: 'shard',
        'runs-on': 'ubuntu-latest',
        steps: [
          ...prepared,
          {
            uses: 'actions/download-artifact@v4',
            with: { pattern: `${s.name}-*`, 'merge-multiple': true },
          },
          { run: `${mergeCommand(s)} --format markdown >> "$GITHUB_STEP_SUMMARY"` },
          {
            uses: 'actions/upload-artifact@v4',
            with: { name: s.name, path: `${s.stem}.results.jsonl\n${s.stem}.best*.yaml\n` },
          },
        ],
      },
    },
  };
  const doc = new Document(workflow, { aliasDuplicateObjects: false });
  (doc.getIn(['jobs', 'shard', 'strategy', 'matrix', 'shard']) as YAMLSeq).flow = true;
  return `# ${s.shards} shards of a sweep, for .github/workflows; "Run workflow" starts it. What it finds is in the summary of the run.
${doc.toString({ lineWidth: 0 })}`;
}
