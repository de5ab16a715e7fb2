import { stringify } from 'yaml';
import { mergeCommand, type ShardedSweep, shardCommand } from './job.ts';

/** How often Kubernetes restarts a shard. A restarted shard keeps its finished cells. */
const MOST_RESTARTS = 3;

/** Mount point of the claim, and working directory of the commands. */
const FOLDER = '/work';

/** The resources that a Job uses. */
export interface KubernetesPlace {
  /** Image with a shell and the programs that `command` calls. */
  readonly image: string;
  /** PersistentVolumeClaim with the experiment and the kernels; results are written to it. */
  readonly claim: string;
}

/**
 * A sweep as an indexed Kubernetes Job in YAML (API reference, Job v1 batch). Each shard has an index from 0, which its pod gets as
 * `JOB_COMPLETION_INDEX`.
 */
export function kubernetesJob(s: ShardedSweep, place: KubernetesPlace): string {
  const job = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: s.name },
    spec: {
      completionMode: 'Indexed',
      completions: s.shards,
      parallelism: s.shards,
      backoffLimitPerIndex: MOST_RESTARTS,
      template: {
        spec: {
          restartPolicy: 'Never',
          containers: [
            {
              name: 'shard',
              image: place.image,
              workingDir: FOLDER,
              command: ['sh', '-c', `exec ${shardCommand(s, '$((JOB_COMPLETION_INDEX + 1))')}`],
              resources: { requests: { cpu: String(s.jobs) } },
              volumeMounts: [{ name: 'work', mountPath: FOLDER }],
            },
          ],
          volumes: [{ name: 'work', persistentVolumeClaim: { claimName: place.claim } }],
        },
      },
    },
  };
  return `# ${s.shards} shards of a sweep. Start it, wait for it, and join what they wrote, in the folder that the claim '${place.claim}' holds:
#   kubectl apply -f FILE
#   kubectl wait --for=condition=complete --timeout=24h job/${s.name}
#   ${mergeCommand(s)}
${stringify(job, { lineWidth: 0 })}`;
}
