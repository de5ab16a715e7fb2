#!/bin/sh
# Starts and stops a Slurm cluster of one controller and two nodes on this host, with all that it keeps in one folder:
#   cluster.sh start FOLDER    (FOLDER/slurm.conf is then its SLURM_CONF)
#   cluster.sh stop FOLDER
# It needs slurmctld, slurmd and munge, of Debian's packages of these names, and no root. Several slurmd on one host are told apart by
# -N (slurmd(8), and slurm.conf(5) under NodeHostname and Port).
set -eu
cmd=$1
dir=$2
export SLURM_CONF="$dir/slurm.conf"
PATH=$PATH:/usr/sbin

stop() {
  for d in node1 node2 slurmctld munged; do
    [ -f "$dir/$d.pid" ] || continue
    pid=$(cat "$dir/$d.pid")
    kill "$pid" 2> /dev/null || continue
    i=0
    while kill -0 "$pid" 2> /dev/null && [ $i -lt 50 ]; do i=$((i + 1)); sleep 0.1; done
    kill -9 "$pid" 2> /dev/null || true
  done
}

if [ "$cmd" = stop ]; then stop; exit; fi

mkdir -p "$dir/state"
# munged wants its socket to be within reach of all.
chmod 711 "$dir"
head -c 1024 /dev/urandom > "$dir/munge.key"
chmod 400 "$dir/munge.key"
port=$((20000 + $$ % 20000))
cat > "$SLURM_CONF" <<EOF
ClusterName=orrery
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
SlurmctldPort=$port
AuthType=auth/munge
AuthInfo=socket=$dir/munge.sock
CryptoType=crypto/munge
StateSaveLocation=$dir/state
SlurmctldPidFile=$dir/slurmctld.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdPidFile=$dir/%n.pid
SlurmdLogFile=$dir/%n.log
SlurmdSpoolDir=$dir/spool-%n
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=1
ReturnToService=2
MailProg=/bin/true
MpiDefault=none
NodeName=node1 NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=1
NodeName=node2 NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=1
PartitionName=all Nodes=node1,node2 Default=YES MaxTime=10 State=UP
EOF
munged --key-file="$dir/munge.key" --socket="$dir/munge.sock" --pid-file="$dir/munged.pid" --log-file="$dir/munged.log" \
  --seed-file="$dir/munge.seed"
slurmctld -c -f "$SLURM_CONF"
slurmd -N node1 -f "$SLURM_CONF"
slurmd -N node2 -f "$SLURM_CONF"
i=0
until [ "$(sinfo --noheader --states=idle --Node --format=%N | sort -u | wc -l)" = 2 ]; do
  i=$((i + 1))
  [ $i -lt 100 ] || { cat "$dir"/*.log >&2; stop; exit 1; }
  sleep 0.1
done
