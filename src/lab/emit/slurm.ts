import { shellWord } from '../../ir/quote.ts';
import { mergeCommand, type ShardedSweep, shardCommand } from './job.ts';

/**
 * A sweep as a script for a Slurm job array (sbatch(1)): one task for each shard, on machines that share the folder. A restarted task keeps
 * its finished cells.
 *
 * @param folder working directory of the commands
 */
export const slurmScript = (s: ShardedSweep, folder: string): string => `#!/bin/sh
# ${s.shards} shards of a sweep. Submit it, and join what they wrote:
#   sbatch --wait FILE
#   ${mergeCommand(s)}
#SBATCH --job-name=${s.name}
#SBATCH --array=1-${s.shards}
#SBATCH --cpus-per-task=${s.jobs}
#SBATCH --output=${s.name}.%A_%a.log
#SBATCH --requeue
cd ${shellWord(folder)} || exit 1
exec ${shardCommand(s, '$SLURM_ARRAY_TASK_ID')}
`;
