import { stringify } from 'yaml';
import { mergeCommand, type ShardedSweep, shardCommand } from './job.ts';

/** How often Kubernetes starts a shard again; it goes on with the cells that it has. */
const MOST_RESTARTS = 3;

/** Where the claim is mounted, and the commands run. */
const FOLDER = '/work';

/** Where a Job finds what it needs. */
export interface KubernetesPlace {
  /** Image with a shell, and with what `command` calls. */
  readonly image: string;
  /** PersistentVolumeClaim with the experiment and the kernels; results are written there. */
  readonly claim: string;
}

/**
 * A sweep as an indexed Job of Kubernetes (API reference, Job v1 batch): one index for each shard, from 0, which the pods have as
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
