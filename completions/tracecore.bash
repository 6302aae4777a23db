# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Completion for bash, made by 'tracecore completion bash'. To use it:
#   source <(tracecore completion bash)

_tracecore_words() {
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}

_tracecore() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    # '--option=value' comes as three words.
    if [[ $cur == '=' ]]; then
        cur=
    elif [[ $prev == '=' ]]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if ((COMP_CWORD == 1)); then
        _tracecore_words "detect decode serve incidents status alert config contract probe evidence run compare trend diagnose report sql mcp publish lineage verify export retain rebuild migrate simulate score completion help --help --version"
        return
    fi
    case ${COMP_WORDS[1]} in
    detect)
        case $prev in
        --job)
            return
            ;;
        --color)
            _tracecore_words "auto always never"
            return
            ;;
        --node)
            return
            ;;
        --since)
            return
            ;;
        --data-dir)
            return
            ;;
        --only)
            _tracecore_words "checkpoint_stall dataloader_hang gpu_fault hbm_ecc host_oom nccl_hang network_link_fault nvlink_degraded pcie_aer pod_evicted rank_crash source_failing straggler thermal_throttle xid_correlation"
            return
            ;;
        --disable)
            _tracecore_words "checkpoint_stall dataloader_hang gpu_fault hbm_ecc host_oom nccl_hang network_link_fault nvlink_degraded pcie_aer pod_evicted rank_crash source_failing straggler thermal_throttle xid_correlation"
            return
            ;;
        --set)
            return
            ;;
        --xid)
            return
            ;;
        --gpus)
            return
            ;;
        --offenders)
            return
            ;;
        --format | -f)
            _tracecore_words "flight_recorder truth event_json fabric_manager otlp otlp_protobuf k8s kmsg prometheus train_log job_log slurm ncclras kubectl kubelet nccl_log nvidia_smi dcgm infiniband rank_map"
            return
            ;;
        --map)
            return
            ;;
        --boot-time)
            return
            ;;
        --now)
            return
            ;;
        --tz)
            return
            ;;
        --scrape-interval)
            return
            ;;
        --memory)
            return
            ;;
        esac
        if [[ $cur == -* ]]; then
            _tracecore_words "--json --brief --all --job --color --node --since --data-dir --only --disable --set --xid --gpus --offenders --list-patterns --quiet --format --map --boot-time --now --tz --scrape-interval --memory --verbose --help"
        fi
        ;;
    decode)
        case $prev in
        --node)
            return
            ;;
        --format | -f)
            _tracecore_words "flight_recorder truth event_json fabric_manager otlp otlp_protobuf k8s kmsg prometheus train_log job_log slurm ncclras kubectl kubelet nccl_log nvidia_smi dcgm infiniband rank_map"
            return
            ;;
        --map)
            return
            ;;
        --boot-time)
            return
            ;;
        --now)
            return
            ;;
        --tz)
            return
            ;;
        --scrape-interval)
            return
            ;;
        --memory)
            return
            ;;
        esac
        if [[ $cur == -* ]]; then
            _tracecore_words "--attributes --formats --unknown --node --format --map --boot-time --now --tz --scrape-interval --memory --verbose --help"
        fi
        ;;
    serve)
        case $prev in
        --config | -c)
            return
            ;;
        esac
        if [[ $cur == -* ]]; then
            _tracecore_words "--config --announce --help"
        fi
        ;;
    incidents)
        case $prev in
        --job)
            return
            ;;
        --color)
            _tracecore_words "auto always never"
            return
            ;;
        --node)
            return
            ;;
        --since)
            return
            ;;
        --api)
            return
            ;;
        --cacert)
            return
            ;;
        --cert)
            return
            ;;
        --key)
            return
            ;;
        esac
        if [[ $cur == -* ]]; then
            _tracecore_words "--json --brief --all --job --color --node --since --follow --api --cacert --cert --key --help"
        elif ((COMP_CWORD == 2)); then
            _tracecore_words ""
        fi
        ;;
    status)
        case $prev in
        --api)
            return
            ;;
        --cacert)
            return
            ;;
        --cert)
            return
            ;;
        --key)
            return
            ;;
        esac
        if [[ $cur == -* ]]; then
            _tracecore_words "--api --cacert --cert --key --json --help"
        fi
        ;;
    alert)
        case $prev in
        --config | -c)
            return
            ;;
        esac
        if [[ $cur == -* ]]; then
            _tracecore_words "--config --print --help"
        elif ((COMP_CWORD == 2)); then
            _tracecore_words "test"
        fi
        ;;
    config)
        if [[ $cur == -* ]]; then
            _tracecore_words "--verbose --json --markdown --help"
        elif ((COMP_CWORD == 2)); then
            _tracecore_words "check print-default"
        fi
        ;;
    contract)
        case $prev in
        --output | -o)
            return
            ;;
        --overrides-json)
            return
            ;;
        --name)
            return
            ;;
        --class)
            return
            ;;
        --workload-type)
            return
            ;;
        --scheduler-path)
            return
            ;;
        --cadence)
            return
            ;;
        --model)
            return
            ;;
        --precision)
            return
            ;;
        --batching-policy)
            return
            ;;
        --concurrency-model)
            return
            ;;
        --variable)
            return
            ;;
        esac
        if [[ $cur == -* ]]; then
            _tracecore_words "--strict --json --markdown --output --force --overrides-json --name --class --workload-type --scheduler-path --cadence --model --precision --batching-policy --concurrency-model --variable --help"
        elif ((COMP_CWORD == 2)); then
            _tracecore_words "check init explain list"
        fi
        ;;
    probe)
        case $prev in
        --output | -o)
            return
            ;;
        --from)
            return
            ;;
        esac
        if [[ $cur == -* ]]; then
            _tracecore_words "--output --from --json --help"
        elif ((COMP_CWORD == 2)); then
            _tracecore_words ""
        fi
        ;;
    evidence)
        case $prev in
        --at)
            return
            ;;
        --verify)
            return
            ;;
        --data-dir)
            return
            ;;
        --since)
            return
            ;;
        --key)
            return
            ;;
        --new-key)
            return
            ;;
        --pub)
            return
            ;;
        --file)
            return
            ;;
        --envelope)
            return
            ;;
        esac
        if [[ $cur == -* ]]; then
            _tracecore_words "--at --verify --data-dir --since --objects --local --key --new-key --pub --file --envelope --json --help"
        elif ((COMP_CWORD == 2)); then
            _tracecore_words "cat ls verify manifest sign"
        fi
        ;;
    run)
        case $prev in
        --contract | -c)
            return
            ;;
        --result | -r)
            return
            ;;
        --telemetry | -t)
            return
            ;;
        --verdicts)
            return
            ;;
        --artifact | -a)
            return
            ;;
        --format)
            return
            ;;
        --run-id)
            return
            ;;
        --name)
            return
            ;;
        --replicate-group)
            return
            ;;
        --scheduler-run-id)
            return
            ;;
        --job-uid)
            return
            ;;
        --node)
            return
            ;;
        --pod)
            return
            ;;
        --job)
            return
            ;;
        --intent)
            return
            ;;
        --gpu-hour-usd)
            return
            ;;
        --class)
            return
            ;;
        --slower-than)
            return
            ;;
        --point)
            return
            ;;
        --since)
            return
            ;;
        --limit)
            return
            ;;
        --data-dir)
            return
            ;;
        esac
        if [[ $cur == -* ]]; then
            _tracecore_words "--contract --result --telemetry --verdicts --artifact --format --run-id --name --replicate-group --scheduler-run-id --job-uid --node --pod --job --intent --again --gpu-hour-usd --force --dry-run --class --slower-than --point --since --limit --data-dir --json --quiet --help"
        elif ((COMP_CWORD == 2)); then
            _tracecore_words "add list show diff read"
        fi
        ;;
    compare)
        case $prev in
        --metric | -m)
            return
            ;;
        --point | -p)
            return
            ;;
        --confidence)
            return
            ;;
        --fail-on)
            return
            ;;
        --data-dir)
            return
            ;;
        esac
        if [[ $cur == -* ]]; then
            _tracecore_words "--metric --point --all --confidence --fail-on --markdown --json --data-dir --help"
        fi
        ;;
    trend)
        case $prev in
        --runs | -r)
            return
            ;;
        --point | -p)
            return
            ;;
        --confidence)
            return
            ;;
        --data-dir)
            return
            ;;
        esac
        if [[ $cur == -* ]]; then
            _tracecore_words "--runs --point --all --confidence --json --data-dir --help"
        fi
        ;;
    diagnose)
        case $prev in
        --against)
            return
            ;;
        --data-dir)
            return
            ;;
        esac
        if [[ $cur == -* ]]; then
            _tracecore_words "--against --all --data-dir --json --help"
        fi
        ;;
    report)
        case $prev in
        --for)
            _tracecore_words "engineering product partner"
            return
            ;;
        --format)
            _tracecore_words "markdown html json"
            return
            ;;
        --output | -o)
            return
            ;;
        --data-dir)
            return
            ;;
        esac
        if [[ $cur == -* ]]; then
            _tracecore_words "--for --format --output --data-dir --help"
        fi
        ;;
    sql)
        case $prev in
        --limit)
            return
            ;;
        --timeout)
            return
            ;;
        --file)
            return
            ;;
        --data-dir)
            return
            ;;
        esac
        if [[ $cur == -* ]]; then
            _tracecore_words "--csv --json --table --limit --timeout --file --describe --markdown --data-dir --help"
        fi
        ;;
    mcp)
        case $prev in
        --data-dir)
            return
            ;;
        --api)
            return
            ;;
        --cacert)
            return
            ;;
        --cert)
            return
            ;;
        --key)
            return
            ;;
        esac
        if [[ $cur == -* ]]; then
            _tracecore_words "--data-dir --api --cacert --cert --key --help"
        fi
        ;;
    publish)
        case $prev in
        --metric)
            return
            ;;
        --point)
            return
            ;;
        --definition)
            return
            ;;
        --query)
            return
            ;;
        --unit)
            return
            ;;
        --report-row)
            return
            ;;
        --unstable)
            return
            ;;
        --reason)
            return
            ;;
        --output | -o)
            return
            ;;
        --data-dir)
            return
            ;;
        esac
        if [[ $cur == -* ]]; then
            _tracecore_words "--metric --point --definition --query --unit --report-row --unstable --dry-run --reason --output --all --data-dir --json --help"
        elif ((COMP_CWORD == 2)); then
            _tracecore_words "list retract export"
        fi
        ;;
    lineage)
        case $prev in
        --report)
            return
            ;;
        --pub)
            return
            ;;
        --data-dir)
            return
            ;;
        esac
        if [[ $cur == -* ]]; then
            _tracecore_words "--all --report --pub --data-dir --json --help"
        elif ((COMP_CWORD == 2)); then
            _tracecore_words ""
        fi
        ;;
    verify)
        case $prev in
        --pub)
            return
            ;;
        esac
        if [[ $cur == -* ]]; then
            _tracecore_words "--pub --json --help"
        fi
        ;;
    export)
        case $prev in
        --parquet)
            return
            ;;
        --table)
            return
            ;;
        --data-dir)
            return
            ;;
        esac
        if [[ $cur == -* ]]; then
            _tracecore_words "--parquet --table --force --data-dir --json --help"
        fi
        ;;
    retain)
        case $prev in
        --hot-days)
            return
            ;;
        --warm-days)
            return
            ;;
        --cold-days)
            return
            ;;
        --data-dir)
            return
            ;;
        esac
        if [[ $cur == -* ]]; then
            _tracecore_words "--dry-run --hot-days --warm-days --cold-days --data-dir --json --help"
        fi
        ;;
    rebuild)
        case $prev in
        --into)
            return
            ;;
        --data-dir)
            return
            ;;
        esac
        if [[ $cur == -* ]]; then
            _tracecore_words "--dry-run --into --drop-old --data-dir --json --quiet --help"
        fi
        ;;
    migrate)
        case $prev in
        --from)
            return
            ;;
        --to)
            return
            ;;
        --batch)
            return
            ;;
        esac
        if [[ $cur == -* ]]; then
            _tracecore_words "--from --to --batch --json --quiet --help"
        fi
        ;;
    simulate)
        case $prev in
        --nodes)
            return
            ;;
        --gpus-per-node)
            return
            ;;
        --hours)
            return
            ;;
        --seed)
            return
            ;;
        --faults)
            return
            ;;
        --trouble)
            return
            ;;
        --start)
            return
            ;;
        --out | -o)
            return
            ;;
        --otlp)
            return
            ;;
        --speed)
            return
            ;;
        --encoding)
            return
            ;;
        --header)
            return
            ;;
        --upload)
            return
            ;;
        esac
        if [[ $cur == -* ]]; then
            _tracecore_words "--nodes --gpus-per-node --hours --seed --faults --trouble --start --out --stream --otlp --speed --now --encoding --gzip --header --upload --json --list-faults --quiet --help"
        elif ((COMP_CWORD == 2)); then
            _tracecore_words ""
        fi
        ;;
    score)
        case $prev in
        --truth)
            return
            ;;
        --list)
            return
            ;;
        --grace)
            return
            ;;
        --min-precision)
            return
            ;;
        --min-recall)
            return
            ;;
        --min-culprit)
            return
            ;;
        --min-root)
            return
            ;;
        esac
        if [[ $cur == -* ]]; then
            _tracecore_words "--truth --json --list --grace --min-precision --min-recall --min-culprit --min-root --per-pattern --help"
        fi
        ;;
    completion)
        if [[ $cur == -* ]]; then
            _tracecore_words "--help"
        elif ((COMP_CWORD == 2)); then
            _tracecore_words "bash zsh fish"
        fi
        ;;
    help)
        if [[ $cur == -* ]]; then
            _tracecore_words "--man --help"
        elif ((COMP_CWORD == 2)); then
            _tracecore_words " detect decode serve incidents status alert config contract probe evidence run compare trend diagnose report sql mcp publish lineage verify export retain rebuild migrate simulate score completion help"
        fi
        ;;
    esac
}

# What is not completed here is a file.
complete -o bashdefault -o default -F _tracecore tracecore
