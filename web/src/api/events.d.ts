// Made by `npm run api` from tests/snapshots/event-messages.json, sha256 351a6a63c79727ae4d84379ff2f236ddfa2031c164b0a50c8419def033762c42. Do not edit.
export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * AccountEvent
         * @description Who may act in your name, or how much, changed.
         */
        AccountEvent: {
            /**
             * By
             * @description How a session was opened: password, one_time, device, registration.
             * @default null
             */
            by: string | null;
            /**
             * Change
             * @enum {string}
             */
            change: "session_opened" | "token_created" | "role_changed" | "limits_changed" | "storage_limits_changed";
            /**
             * Subject Id
             * @description The session or the token.
             * @default null
             */
            subject_id: string | null;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "account";
        };
        /**
         * AdminEvent
         * @description For admins: something needs a person, or no longer does.
         */
        AdminEvent: {
            /**
             * Change
             * @enum {string}
             */
            change: "dispute_opened" | "dispute_resolved" | "cash_out_requested" | "cash_out_canceled" | "cash_out_not_returned" | "contest_opened" | "node_accused" | "payment_difference" | "ledger_frozen" | "ledger_thawed" | "mail_given_up" | "user_registered" | "setting_changed";
            /** Subject Id */
            subject_id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "admin";
        };
        /**
         * AttemptReason
         * @description Why an attempt ended. `GET catalog` has a sentence for each; more may come.
         * @enum {string}
         */
        AttemptReason: "exited" | "memory" | "disk" | "runtime" | "canceled" | "outputs" | "bundle" | "start_failed" | "sandbox" | "input" | "bad_input" | "unreachable" | "slow_input" | "node_disk" | "declined" | "agent_restarted" | "bad_receipt" | "budget" | "digest_mismatch" | "failed_audit" | "forgotten_by_agent" | "hub_downtime" | "lease_expired" | "never_delivered" | "node_banned" | "not_begun" | "not_deterministic" | "outputs_missing" | "overdue" | "preempted" | "receipt_mismatch" | "replica_failed" | "stalled" | "storage" | "taken_back_by_owner" | "wrong_result";
        /**
         * AttemptState
         * @enum {string}
         */
        AttemptState: "leased" | "preparing" | "running" | "suspended" | "finishing" | "succeeded" | "failed" | "lost" | "canceled" | "superseded";
        /**
         * Verdict
         * @description Whose doing the end of an attempt was. It alone decides retry, billing and reputation.
         * @enum {string}
         */
        Verdict: "ok" | "renter" | "host" | "owner" | "preempted" | "hub" | "budget";
        /**
         * AttemptEvent
         * @description An attempt of one of your jobs changed its state.
         */
        AttemptEvent: {
            /** Attempt Id */
            attempt_id: string;
            /** Job Id */
            job_id: string;
            /** Node Id */
            node_id: string;
            /**
             * Reason
             * @default null
             */
            reason: components["schemas"]["AttemptReason"] | null;
            /** Slice */
            slice: number;
            state: components["schemas"]["AttemptState"];
            /**
             * Taken Back
             * @description It was lost, and goes on where it was.
             * @default false
             */
            taken_back: boolean;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "attempt";
            /** @default null */
            verdict: components["schemas"]["Verdict"] | null;
        };
        /**
         * CheckpointEvent
         * @description A slice of one of your jobs was saved: its next attempt can start there.
         */
        CheckpointEvent: {
            /** Attempt Id */
            attempt_id: string;
            /** Job Id */
            job_id: string;
            /** Number */
            number: number;
            /** Size Bytes */
            size_bytes: number;
            /** Slice */
            slice: number;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "checkpoint";
        };
        /**
         * CostEvent
         * @description A part of a running attempt was settled, or could not be paid.
         */
        CostEvent: {
            /** Attempt Id */
            attempt_id: string;
            /**
             * Cost Micros
             * @default 0
             */
            cost_micros: number;
            /** Job Id */
            job_id: string;
            /**
             * Out Of Credits
             * @description It was asked to leave its node, as the next part cannot be paid.
             * @default false
             */
            out_of_credits: boolean;
            /** Slice */
            slice: number;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "cost";
        };
        /**
         * HostedEvent
         * @description Somebody else's attempt changed its state on one of your nodes.
         */
        HostedEvent: {
            /** Attempt Id */
            attempt_id: string;
            /** Node Id */
            node_id: string;
            /**
             * Reason
             * @default null
             */
            reason: components["schemas"]["AttemptReason"] | null;
            state: components["schemas"]["AttemptState"];
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "hosted";
            /** @default null */
            verdict: components["schemas"]["Verdict"] | null;
        };
        /**
         * JobState
         * @description A job's states, and a slice's.
         * @enum {string}
         */
        JobState: "queued" | "running" | "succeeded" | "failed" | "canceled";
        /**
         * JobEvent
         * @description One of your jobs changed.
         */
        JobEvent: {
            /**
             * Change
             * @enum {string}
             */
            change: "submitted" | "cancel_requested" | "ended" | "deleted" | "result_corrected";
            /**
             * Exit Code
             * @default null
             */
            exit_code: number | null;
            /** Job Id */
            job_id: string;
            /**
             * Reason
             * @default null
             */
            reason: components["schemas"]["AttemptReason"] | null;
            /**
             * Slice
             * @description Whose result was corrected.
             * @default null
             */
            slice: number | null;
            /**
             * Slices
             * @description How many it has, when it was submitted.
             * @default null
             */
            slices: number | null;
            /**
             * @description Of the job, where it changed.
             * @default null
             */
            state: components["schemas"]["JobState"] | null;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "job";
            /** @default null */
            verdict: components["schemas"]["Verdict"] | null;
        };
        /**
         * NodeState
         * @enum {string}
         */
        NodeState: "online" | "paused" | "draining" | "quarantined" | "offline" | "banned";
        /**
         * NodeEvent
         * @description One of your nodes changed.
         */
        NodeEvent: {
            /**
             * Change
             * @enum {string}
             */
            change: "enrolled" | "state" | "changed" | "drain" | "resume" | "benchmark" | "quarantined" | "quarantine_over" | "declines" | "slots" | "verified" | "unverified" | "cloned" | "key_replaced" | "policy";
            /** Node Id */
            node_id: string;
            /**
             * Slots
             * @description How many slices of strangers it may have at once.
             * @default null
             */
            slots: number | null;
            /** @default null */
            state: components["schemas"]["NodeState"] | null;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "node";
            /**
             * Until
             * @description How long it is quarantined, or asked less often.
             * @default null
             */
            until: string | null;
        };
        /**
         * NoticeEvent
         * @description Something that you should look at.
         */
        NoticeEvent: {
            /**
             * About
             * @enum {string}
             */
            about: "dispute_opened" | "dispute_resolved" | "disputed" | "dispute_decided" | "restitution_owed" | "restitution_paid" | "clawback" | "contest_opened" | "contest_decided" | "node_accused" | "accusation_decided" | "node_proven_wrong";
            /**
             * Job Id
             * @default null
             */
            job_id: string | null;
            /**
             * Micros
             * @default null
             */
            micros: number | null;
            /**
             * Node Id
             * @default null
             */
            node_id: string | null;
            /**
             * Outcome
             * @default null
             */
            outcome: string | null;
            /**
             * Subject Id
             * @description What it is about: a dispute, an attempt, a node.
             */
            subject_id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "notice";
        };
        /**
         * PaymentEvent
         * @description Money or credits moved in your wallet by other means than a job, or how they move changed.
         */
        PaymentEvent: {
            /**
             * Change
             * @enum {string}
             */
            change: "credits_granted" | "credits_withdrawn" | "voucher_redeemed" | "debt_written_off" | "top_up_credited" | "top_up_failed" | "top_up_requires_action" | "refunded" | "chargeback" | "dispute_refund_undone" | "cash_out_requested" | "cash_out_approved" | "cash_out_rejected" | "cash_out_paid" | "cash_out_failed" | "cash_out_returned" | "cash_out_canceled" | "card_saved" | "card_forgotten" | "card_plan_changed" | "card_stopped" | "payout_account_changed" | "storage_unpaid";
            /**
             * Micros
             * @default null
             */
            micros: number | null;
            /**
             * Subject Id
             * @description A cash-out, a top-up, a voucher; None where there is only one.
             * @default null
             */
            subject_id: string | null;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "payment";
        };
        PoolEvent: components["schemas"]["AccountEvent"] | components["schemas"]["AdminEvent"] | components["schemas"]["AttemptEvent"] | components["schemas"]["CheckpointEvent"] | components["schemas"]["CostEvent"] | components["schemas"]["HostedEvent"] | components["schemas"]["JobEvent"] | components["schemas"]["NodeEvent"] | components["schemas"]["NoticeEvent"] | components["schemas"]["PaymentEvent"];
        /** EventMessage */
        EventMessage: {
            /**
             * At
             * Format: date-time
             */
            at: string;
            /** Event */
            event: components["schemas"]["JobEvent"] | components["schemas"]["AttemptEvent"] | components["schemas"]["CheckpointEvent"] | components["schemas"]["CostEvent"] | components["schemas"]["HostedEvent"] | components["schemas"]["NodeEvent"] | components["schemas"]["NoticeEvent"] | components["schemas"]["PaymentEvent"] | components["schemas"]["AccountEvent"] | components["schemas"]["AdminEvent"];
            /**
             * Id
             * @description Send the last one you have as `?after=` or `Last-Event-ID` to go on from there. Opaque: compare for equality
             *     only.
             */
            id: string;
            /**
             * Notice
             * @description `GET /notices` has something new because of it.
             * @default false
             */
            notice: boolean;
            /**
             * Type
             * @default event
             * @constant
             */
            type: "event";
        };
        /**
         * HelloMessage
         * @description The first message. Events after `id` follow.
         */
        HelloMessage: {
            /**
             * Id
             * @description Where the stream begins: what you sent, or the newest event.
             */
            id: string;
            /**
             * Type
             * @default hello
             * @constant
             */
            type: "hello";
            /**
             * Version
             * @default 1
             */
            version: number;
        };
        /**
         * ActionView
         * @description Whether the reader may do it now.
         */
        ActionView: {
            /**
             * Allowed
             * @description Whether it may be done now.
             */
            allowed: boolean;
            /**
             * Reason
             * @description Why not, as a sentence; null where it is allowed.
             * @default null
             */
            reason: string | null;
        };
        /**
         * FailedSlices
         * @description Slices that ended in one way.
         */
        FailedSlices: {
            /** Count */
            count: number;
            /** Exit Code */
            exit_code: number | null;
            /** Reason */
            reason: components["schemas"]["AttemptReason"] | null;
            /**
             * Slices
             * @description Their numbers, such as `0-3, 17`.
             */
            slices: string;
            state: components["schemas"]["JobState"];
            verdict: components["schemas"]["Verdict"] | null;
        };
        /**
         * JobActions
         * @description What the reader may do with a job.
         */
        JobActions: {
            /** @description Stop it. */
            cancel: components["schemas"]["ActionView"];
            /** @description Submit a changed copy with the same files. */
            clone: components["schemas"]["ActionView"];
            /** @description Ask for what it cost. */
            dispute: components["schemas"]["ActionView"] | null;
            /** @description Delete it, with its logs and outputs. */
            remove: components["schemas"]["ActionView"];
            /** @description Run it again as a new job, with the same files. */
            retry: components["schemas"]["ActionView"];
            /** @description Make a link by which everybody can see it. */
            share: components["schemas"]["ActionView"];
            /** @description Check the signatures of what ran. */
            verify: components["schemas"]["ActionView"];
        };
        /**
         * StreamedJob
         * @description A job as streams show it, beside its slices.
         */
        StreamedJob: {
            /**
             * @description What the reader may do with it. Null in the frames of its stream, which all readers share.
             * @default null
             */
            actions: components["schemas"]["JobActions"] | null;
            /** Cancel Requested At */
            cancel_requested_at: string | null;
            /**
             * Ceiling Micros
             * @description The most that a slice-hour may cost: the spec's `max_price`, or a quarter more than was quoted. None: none.
             */
            ceiling_micros: number | null;
            /**
             * Cost Micros
             * @description What was paid for it so far, its replicas included, without what was given back.
             */
            cost_micros: number | null;
            /**
             * Counts
             * @description Slices by state.
             */
            counts: {
                [key: string]: number;
            };
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /**
             * Disputable Until
             * @description Of one that ended and was paid for: until when its renter can dispute it.
             * @default null
             */
            disputable_until: string | null;
            /**
             * Dispute Id
             * @description The dispute about it, open or resolved.
             * @default null
             */
            dispute_id: string | null;
            /** Exit Code */
            exit_code: number | null;
            /**
             * Failures
             * @description All slices that did not succeed, those that ended alike together.
             */
            failures: components["schemas"]["FailedSlices"][];
            /** Finished At */
            finished_at: string | null;
            /** Id */
            id: string;
            /**
             * Logs Removed At
             * @description The pool's operator keeps logs only for so long.
             * @default null
             */
            logs_removed_at: string | null;
            /** Message */
            message: string | null;
            /** Name */
            name: string;
            /**
             * Next Slice
             * @description Where its slices go on after those that are shown, if there are more: ask with `?from_slice=`.
             */
            next_slice: number | null;
            /**
             * Outputs Removed At
             * @default null
             */
            outputs_removed_at: string | null;
            /** Owner Id */
            owner_id: string;
            /**
             * Owner Name
             * @description Null for a team, and in the answer that makes the job.
             * @default null
             */
            owner_name: string | null;
            /** Priority */
            priority: number;
            /** Reason */
            reason: components["schemas"]["AttemptReason"] | null;
            /**
             * Resources
             * @description What a slice asks for, in words: `1 × rtx-4090, 8 CPU, 16GB memory, 1GB disk`.
             */
            resources: string;
            /** Retry Of */
            retry_of: string | null;
            /**
             * Simulated
             * @description It runs on simulated nodes alone: nothing of it is really run.
             */
            simulated: boolean;
            /** Slice Count */
            slice_count: number;
            /**
             * Slice Indices
             * @description Which of the spec's slices it runs, if not all: those of an earlier job that did not succeed.
             */
            slice_indices: number[] | null;
            /** Started At */
            started_at: string | null;
            state: components["schemas"]["JobState"];
            verdict: components["schemas"]["Verdict"] | null;
        };
        /**
         * JobEndMessage
         * @description The last frame of `WS /api/v1/jobs/{job_id}/stream`: the job is final, and all that was asked for was sent.
         */
        JobEndMessage: {
            /** @description As in `slices`. */
            job: components["schemas"]["StreamedJob"];
            /**
             * Type
             * @default end
             * @constant
             */
            type: "end";
        };
        /**
         * LogMessage
         * @description A piece of an attempt's log.
         */
        LogMessage: {
            /** Attempt */
            attempt: number;
            /**
             * Data
             * @description The bytes in base64.
             */
            data: string;
            /**
             * Job Id
             * @description Always told; older hubs left it out on the stream of one job.
             * @default null
             */
            job_id: string | null;
            /**
             * Offset
             * @description Of its first byte in the log.
             */
            offset: number;
            /** Slice */
            slice: number;
            /**
             * Type
             * @default log
             * @constant
             */
            type: "log";
        };
        /**
         * MapCell
         * @description Nodes of one country, tier and state. No machine's place is told.
         */
        MapCell: {
            /**
             * Busy
             * @description Of them, how many run something now.
             */
            busy: number;
            /**
             * Country
             * @description Two letters; null for nodes whose owners do not say, or that take no strangers' work.
             */
            country: string | null;
            /**
             * Nodes
             * @description How many there are. 0 in an event: there are none any more.
             */
            nodes: number;
            /** Simulated */
            simulated: boolean;
            state: components["schemas"]["NodeState"];
            /**
             * Tier
             * @description `cpu`, or the multiplier of their cards.
             */
            tier: string;
        };
        /**
         * MapMessage
         * @description The map, for readers that ask for it: all cells first, then those that changed, at most once a second.
         */
        MapMessage: {
            /** Cells */
            cells: components["schemas"]["MapCell"][];
            /**
             * Type
             * @default map
             * @constant
             */
            type: "map";
            /**
             * Whole
             * @description These are all cells: forget what you had.
             */
            whole: boolean;
        };
        /**
         * GpuLoad
         * @description A GPU as it is now; None for what its driver does not tell.
         */
        GpuLoad: {
            /** Id */
            id: string;
            /**
             * Memory Used Bytes
             * @default null
             */
            memory_used_bytes: number | null;
            /**
             * Power Watts
             * @default null
             */
            power_watts: number | null;
            /**
             * Temperature Celsius
             * @default null
             */
            temperature_celsius: number | null;
            /**
             * Utilisation
             * @default null
             */
            utilisation: number | null;
        };
        /**
         * NodeLoadMessage
         * @description How busy one of your nodes is now. Its telemetry has a new sample too.
         */
        NodeLoadMessage: {
            /**
             * Gpus
             * @description As in `gpu_loads` of the node; empty where it has no GPU.
             */
            gpus: components["schemas"]["GpuLoad"][];
            /** Node Id */
            node_id: string;
            /**
             * Type
             * @default load
             * @constant
             */
            type: "load";
        };
        /**
         * PublicGpuPrice
         * @description A kind of card that is offered now, simulated ones left out.
         */
        PublicGpuPrice: {
            /**
             * From Micros
             * @description The cheapest hour of one that is offered now; null where nobody offers one.
             */
            from_micros: number | null;
            /** Gpu */
            gpu: string;
            /**
             * Offers
             * @description Nodes that offer it.
             */
            offers: number;
            /**
             * Tier
             * @description The multiplier of its price.
             */
            tier: string;
        };
        /**
         * PublicPrice
         * @description What the pool suggests now for an hour of a kind of card, or of a core, in a region.
         */
        PublicPrice: {
            /** Per */
            per: string;
            /** Region */
            region: string;
            /** Spot */
            spot: number;
            /** Suggested Micros */
            suggested_micros: number;
            /** Tier */
            tier: string;
            /** Utilisation */
            utilisation: number | null;
        };
        /** PublicStats */
        PublicStats: {
            /**
             * Counted At
             * @description When jobs, hours and earnings were counted; null until they were.
             * @default null
             */
            counted_at: string | null;
            /**
             * Countries
             * @description Where real nodes are that can be reached now.
             * @default 0
             */
            countries: number;
            /** Cpus Free */
            cpus_free: number;
            /** Cpus Total */
            cpus_total: number;
            /**
             * Earned By Hosts Micros
             * @description What hosts of real nodes ever earned with others' jobs; null in a pool without money.
             * @default null
             */
            earned_by_hosts_micros: number | null;
            /**
             * Gpu Hours
             * @description Of real GPUs, for others than their owners, in attempts that ended well: ever.
             * @default 0
             */
            gpu_hours: number;
            /**
             * Gpu Prices
             * @description The RTX 4090, and what most nodes offer: at most 20 kinds of cards. Null in a pool without money.
             * @default null
             */
            gpu_prices: components["schemas"]["PublicGpuPrice"][] | null;
            /** Gpus Free */
            gpus_free: number;
            /** Gpus Total */
            gpus_total: number;
            /**
             * Jobs Done
             * @description Jobs for real nodes that ever succeeded.
             * @default 0
             */
            jobs_done: number;
            /**
             * Jobs Today
             * @description Submitted since midnight UTC, for real nodes.
             * @default 0
             */
            jobs_today: number;
            /** Memory Bytes Total */
            memory_bytes_total: number;
            /** Nodes Online */
            nodes_online: number;
            /** Nodes Simulated */
            nodes_simulated: number;
            /** Nodes Total */
            nodes_total: number;
            /**
             * Paid To Hosts Micros
             * @description Of what hosts earned, what was paid out to them; null in a pool without money.
             * @default null
             */
            paid_to_hosts_micros: number | null;
            /**
             * @description What is simulated, counted apart. The counts of nodes, cores, memory, GPUs and slices above include it.
             * @default {
             *       "gpu_hours": 0,
             *       "gpus_total": 0,
             *       "jobs_done": 0,
             *       "jobs_today": 0,
             *       "nodes_online": 0,
             *       "nodes_total": 0,
             *       "slices_running": 0
             *     }
             */
            simulated: components["schemas"]["SimulatedStats"];
            /** Slices Queued */
            slices_queued: number;
            /** Slices Running */
            slices_running: number;
            /** Uptime Seconds */
            uptime_seconds: number;
        };
        /**
         * SimulatedStats
         * @description Of simulated nodes alone, which have no real hardware.
         */
        SimulatedStats: {
            /**
             * Gpu Hours
             * @description Of simulated GPUs, in attempts that ended well: ever.
             * @default 0
             */
            gpu_hours: number;
            /**
             * Gpus Total
             * @default 0
             */
            gpus_total: number;
            /**
             * Jobs Done
             * @description Ever succeeded.
             * @default 0
             */
            jobs_done: number;
            /**
             * Jobs Today
             * @description Submitted since midnight UTC.
             * @default 0
             */
            jobs_today: number;
            /**
             * Nodes Online
             * @default 0
             */
            nodes_online: number;
            /**
             * Nodes Total
             * @default 0
             */
            nodes_total: number;
            /**
             * Slices Running
             * @default 0
             */
            slices_running: number;
        };
        /**
         * PublicMessage
         * @description The pool as it is now. Sent when something changed, at most once a second.
         */
        PublicMessage: {
            /**
             * At
             * Format: date-time
             */
            at: string;
            /**
             * Prices
             * @description null in a pool without money.
             */
            prices: components["schemas"]["PublicPrice"][] | null;
            stats: components["schemas"]["PublicStats"];
            /**
             * Type
             * @default public
             * @constant
             */
            type: "public";
        };
        /**
         * RefusedMessage
         * @description A message of yours was not understood, or asks for too much. The stream goes on.
         */
        RefusedMessage: {
            /**
             * Code
             * @enum {string}
             */
            code: "bad_message" | "too_many_subscriptions";
            /** Message */
            message: string;
            /**
             * Type
             * @default refused
             * @constant
             */
            type: "refused";
        };
        /** AttemptView */
        AttemptView: {
            /**
             * Billed Seconds
             * @description How much of its running time was paid so far, by whoever pays.
             */
            billed_seconds: number;
            /**
             * Cost Micros
             * @description What its renter paid for it so far, without what was given back.
             */
            cost_micros: number | null;
            /** Detail */
            detail: string | null;
            /** Exit Code */
            exit_code: number | null;
            /** Fence */
            fence: number;
            /** Finished At */
            finished_at: string | null;
            /** Id */
            id: string;
            isolation: components["schemas"]["IsolationLevel"] | null;
            /**
             * Leased At
             * Format: date-time
             */
            leased_at: string;
            /** Log Bytes */
            log_bytes: number;
            /** Node Id */
            node_id: string;
            /** Node Name */
            node_name: string;
            /** Number */
            number: number;
            /** Own */
            own: boolean;
            /**
             * Price
             * @description What that price was made of.
             */
            price: components["schemas"]["PriceBasis"] | null;
            /**
             * Price Micros
             * @description For an hour, fee included, locked when it was leased. None from before there were prices.
             */
            price_micros: number | null;
            /** Reason */
            reason: components["schemas"]["AttemptReason"] | null;
            /**
             * Resumed From
             * @description The checkpoint of its slice that it started with.
             */
            resumed_from: number | null;
            /** Started At */
            started_at: string | null;
            state: components["schemas"]["AttemptState"];
            verdict: components["schemas"]["Verdict"] | null;
        };
        /**
         * IsolationLevel
         * @description From weakest to strongest; a job states the least it accepts.
         * @enum {string}
         */
        IsolationLevel: "process" | "bubblewrap" | "container" | "gvisor";
        /**
         * Optimize
         * @enum {string}
         */
        Optimize: "cost" | "speed" | "balanced";
        /**
         * PriceBasis
         * @description How the price of an hour came about. What does not count for it is left out.
         */
        PriceBasis: {
            /**
             * Ask Micros
             * @description What the node asked for an hour of one.
             * @default null
             */
            ask_micros?: number | null;
            /**
             * Base Micros
             * @default null
             */
            base_micros?: number | null;
            /**
             * Cpu Millis
             * @description Thousandths of a core.
             * @default null
             */
            cpu_millis?: number | null;
            /**
             * Fixed Micros
             * @default null
             */
            fixed_micros?: number | null;
            /**
             * Floor Micros
             * @default null
             */
            floor_micros?: number | null;
            /**
             * Gpus
             * @description How many GPUs.
             * @default null
             */
            gpus?: number | null;
            /**
             * Own
             * @description A node of one's own: nothing is paid.
             */
            own: boolean;
            /**
             * Per
             * @description Whether GPUs or cores are paid for.
             * @enum {string}
             */
            per: "gpu" | "core";
            /**
             * Preemptible Percent
             * @description What is paid of the price, for a slot that may be lost.
             * @default null
             */
            preemptible_percent?: number | null;
            /**
             * Region
             * @default null
             */
            region?: string | null;
            /**
             * Region Millis
             * @description The factor of the region, in thousandths.
             * @default null
             */
            region_millis?: number | null;
            /**
             * Spot Millis
             * @description The factor of demand, in thousandths.
             * @default null
             */
            spot_millis?: number | null;
            /**
             * Tier Millis
             * @description The factor of the card, in thousandths.
             * @default null
             */
            tier_millis?: number | null;
        };
        /** Publish */
        Publish: {
            /**
             * License
             * @description Such as `mit` or `apache-2.0`.
             * @default null
             */
            license?: string | null;
            /**
             * Model
             * @description As `owner/name`.
             */
            model: string;
        };
        /** SliceView */
        SliceView: {
            /** Attempts */
            attempts: components["schemas"]["AttemptView"][];
            /**
             * Awaits Check
             * @description It has a result, which counts when its replicas confirm it.
             * @default false
             */
            awaits_check: boolean;
            /** Exit Code */
            exit_code: number | null;
            /**
             * Finished At
             * @default null
             */
            finished_at: string | null;
            /** Index */
            index: number;
            /** Reason */
            reason: components["schemas"]["AttemptReason"] | null;
            /**
             * Retry At
             * @description While it waits for another attempt: not before then.
             * @default null
             */
            retry_at: string | null;
            /**
             * Started At
             * @description When the command of its first attempt began.
             * @default null
             */
            started_at: string | null;
            state: components["schemas"]["JobState"];
            verdict: components["schemas"]["Verdict"] | null;
        };
        /**
         * Trust
         * @description Whose nodes may run the job.
         * @enum {string}
         */
        Trust: "mine" | "verified" | "any";
        /** Verify */
        Verify: {
            /**
             * Replicas
             * @description On how many nodes each slice is run.
             */
            replicas: number;
        };
        /** WireCheckpoint */
        WireCheckpoint: {
            /**
             * Every
             * @description How often it is saved, from 10s to 24h; default 5m.
             */
            every: string;
            /**
             * Path
             * @description The folder.
             */
            path: string;
        };
        /**
         * WireGpu
         * @description Whole GPUs, all alike.
         */
        WireGpu: {
            /**
             * Alternatives
             * @description Other models that will do, in the same number.
             */
            alternatives?: components["schemas"]["WireGpuChoice"][];
            /**
             * Count
             * @description How many cards; default 1. Of a range such as `1..2` a slice gets the lower end.
             */
            count: number;
            /**
             * Memory
             * @description Of each card: `24GB..` for at least so much.
             * @default null
             */
            memory?: string | null;
            /**
             * Name
             * @description The model, as people write it; of several in a list, any.
             * @default null
             */
            name?: string | null;
        };
        /**
         * WireGpuChoice
         * @description Another model that will do as well.
         */
        WireGpuChoice: {
            /**
             * Memory
             * @description Of each card.
             * @default null
             */
            memory?: string | null;
            /**
             * Name
             * @description The model.
             * @default null
             */
            name?: string | null;
        };
        /**
         * WireInput
         * @description A file that a node fetches from the internet.
         */
        WireInput: {
            /**
             * Sha256
             * @description The digest of what it gives, as 64 hexadecimal digits.
             */
            sha256: string;
            /**
             * Url
             * @description An https address, without a port.
             */
            url: string;
        };
        /**
         * WireResources
         * @description What one slice needs: `8` is exactly 8, `8..` at least, `..8` at most.
         */
        WireResources: {
            /**
             * Cpus
             * @description Cores of one slice: `8`, `8+`, `0.5`; default 1, or its share with a GPU.
             */
            cpus: string;
            /**
             * Disk
             * @description What one slice may write; default at least 1GB.
             */
            disk: string;
            /**
             * @description Whole GPUs: `24GB..`, `rtx-4090`, `rtx-4090:2`, `A100:80GB:1`, `nvidia`; or `{name, memory, count}`. Of several,
             *     as in `[A100, L4]` or `{A100: 1, L4: 1}`, any will do.
             * @default null
             */
            gpu?: components["schemas"]["WireGpu"] | null;
            /**
             * Memory
             * @description `16GB`, `512MB`; default at least 1GB. Powers of two; a bare number is gigabytes.
             */
            memory: string;
        };
        /**
         * WireSpec
         * @description A job as the pool understands it, with every default that counts. Itself a valid spec. What is empty or false is
         *     left out.
         */
        WireSpec: {
            /**
             * Budget
             * @description Credits for the whole job.
             * @default null
             */
            budget?: string | null;
            /**
             * Checkpoint
             * @description Folder that is saved and restored; or `{path: ckpt, every: 10m}`; default every 5m.
             * @default null
             */
            checkpoint?: string | components["schemas"]["WireCheckpoint"] | null;
            /**
             * Deterministic
             * @description Two runs give the same outputs.
             * @default false
             */
            deterministic?: boolean;
            /**
             * Env
             * @description Variables of the job; a name without a value takes the caller's.
             */
            env?: {
                [key: string]: string;
            };
            /**
             * Image
             * @description Container image to run in.
             * @default null
             */
            image?: string | null;
            /**
             * Inputs
             * @description Files from stored artifacts or URLs, by the path where the job finds them.
             */
            inputs?: {
                [key: string]: string | components["schemas"]["WireInput"];
            };
            /**
             * @description The least that is accepted: `process`, `bubblewrap`, `container`, `gvisor`.
             * @default null
             */
            isolation?: components["schemas"]["IsolationLevel"] | null;
            /**
             * Keep Going
             * @description A line of `run` or `setup` that fails does not end it: the last line's exit code counts.
             * @default false
             */
            keep_going?: boolean;
            /**
             * Links
             * @description Absolute paths and paths in `~/`, each leading to a path in the folder where the command runs.
             */
            links?: {
                [key: string]: string;
            };
            /**
             * Max Price
             * @description The most that a slice-hour may cost, in credits; default: a quarter more than was quoted.
             * @default null
             */
            max_price?: string | null;
            /**
             * Max Runtime
             * @description Of one attempt: `90s`, `2h`, up to 30d; default 24h.
             */
            max_runtime: string;
            /**
             * Name
             * @description What the job is called.
             * @default null
             */
            name?: string | null;
            /**
             * Network
             * @description Whether `run` reaches the internet.
             * @default false
             */
            network?: boolean;
            /**
             * Notify
             * @description Who is told at the end.
             */
            notify?: string[];
            /** @description What to save: `cost`, `speed` (time) or `balanced`; default `balanced`. */
            optimize: components["schemas"]["Optimize"];
            /**
             * Outputs
             * @description Globs of files to keep, below the folder where the command runs.
             */
            outputs?: string[];
            /**
             * Preemptible
             * @description Costs less, and may lose its slot to other jobs, with a grace to save its checkpoint.
             * @default false
             */
            preemptible?: boolean;
            /**
             * Priority
             * @description From -100 to 100, among your own jobs; higher goes first; default 0.
             */
            priority: number;
            /**
             * @description Make a model of the outputs.
             * @default null
             */
            publish?: components["schemas"]["Publish"] | null;
            /** @description What one slice needs. */
            resources: components["schemas"]["WireResources"];
            /**
             * Retries
             * @description Retries after failures of the job itself; default 0.
             */
            retries: number;
            /**
             * Run
             * @description Text for bash, or sh where there is none, which ends at the first line that fails; or a list: a program and its
             *     arguments. The only key that is needed.
             */
            run: string | string[];
            /**
             * Secrets
             * @description Stored secrets that the job gets.
             */
            secrets?: string[];
            /**
             * Setup
             * @description Runs before `run`, to install things.
             * @default null
             */
            setup?: string | null;
            /**
             * Slices
             * @description Parallel parts, up to 10,000; default 1.
             */
            slices: number;
            /**
             * Team
             * @description Whose job it is.
             * @default null
             */
            team?: string | null;
            /**
             * @description Run it on several nodes and compare.
             * @default null
             */
            verify?: components["schemas"]["Verify"] | null;
            /** @description On which nodes it may run. */
            where: components["schemas"]["WireWhere"];
            /**
             * Workdir
             * @description Folder that is sent along, relative to the file; `.gitignore` holds.
             * @default null
             */
            workdir?: string | null;
        };
        /**
         * WireWhere
         * @description On which nodes a job may run.
         */
        WireWhere: {
            /**
             * Country
             * @description Any of these countries, as two letters.
             */
            country?: string[];
            /**
             * Min Reliability
             * @description Nodes that are at least so reliable, from 0 to 1, by the 5 % lower bound.
             * @default null
             */
            min_reliability?: number | null;
            /**
             * Node
             * @description This node alone, by its id.
             * @default null
             */
            node?: string | null;
            /**
             * Tags
             * @description Nodes that have all of these tags.
             */
            tags?: string[];
            /** @description Whose nodes: `mine`, `verified`, `any`; default `any`. */
            trust: components["schemas"]["Trust"];
        };
        /**
         * SlicesMessage
         * @description A job that you watch, and those slices of your window that changed: all of them the first time.
         */
        SlicesMessage: {
            /**
             * First
             * @description It shows the whole window: forget what you had of this job.
             */
            first: boolean;
            /** @description As `GET /jobs/{job_id}` shows it, without `spec` and `slices`. */
            job: components["schemas"]["StreamedJob"];
            /**
             * Slices
             * @description As `GET /jobs/{job_id}` shows them.
             */
            slices: components["schemas"]["SliceView"][];
            /**
             * Spec
             * @description The first time: it does not change.
             * @default null
             */
            spec: components["schemas"]["WireSpec"] | null;
            /**
             * Type
             * @default slices
             * @constant
             */
            type: "slices";
        };
        /**
         * StartOverMessage
         * @description Events between what you have and `id` are not told: read what you show anew, then go on from `id`.
         */
        StartOverMessage: {
            /** Id */
            id: string;
            /**
             * Reason
             * @description pruned: they are older than the hub keeps them. too_many: more than are told at once. unknown_id: not an id of
             *     this hub, or from before it was restored from a backup.
             * @enum {string}
             */
            reason: "pruned" | "too_many" | "unknown_id";
            /**
             * Type
             * @default start_over
             * @constant
             */
            type: "start_over";
        };
        /**
         * WalletMessage
         * @description What is in the wallet now, in millionths of a credit. At most a few a second, however much moves.
         */
        WalletMessage: {
            /** Available Micros */
            available_micros: number;
            /** Cashing Out Micros */
            cashing_out_micros: number;
            /** Debt Micros */
            debt_micros: number;
            /** Earnings Micros */
            earnings_micros: number;
            /** Held Micros */
            held_micros: number;
            /** Owner Id */
            owner_id: string;
            /** Promotional Micros */
            promotional_micros: number;
            /** Spendable Micros */
            spendable_micros: number;
            /**
             * Type
             * @default wallet
             * @constant
             */
            type: "wallet";
        };
        /**
         * WatchEndedMessage
         * @description What you subscribed to is over: the job is final and everything was sent, or it cannot be shown.
         */
        WatchEndedMessage: {
            /**
             * Code
             * @description Why, if it was refused; an error code of the API.
             * @default null
             */
            code: string | null;
            /** Job Id */
            job_id: string;
            /**
             * Message
             * @default null
             */
            message: string | null;
            /**
             * Slice
             * @description Of the log that was followed; None for a window.
             * @default null
             */
            slice: number | null;
            /**
             * Type
             * @default watch_ended
             * @constant
             */
            type: "watch_ended";
        };
        /**
         * WhyMessage
         * @description Why a job that you watch still waits; sent when that changes.
         */
        WhyMessage: {
            /** Job Id */
            job_id: string;
            state: components["schemas"]["JobState"];
            /** Summary */
            summary: string;
            /**
             * Type
             * @default why
             * @constant
             */
            type: "why";
        };
        FromHub: components["schemas"]["EventMessage"] | components["schemas"]["HelloMessage"] | components["schemas"]["JobEndMessage"] | components["schemas"]["LogMessage"] | components["schemas"]["MapMessage"] | components["schemas"]["NodeLoadMessage"] | components["schemas"]["PublicMessage"] | components["schemas"]["RefusedMessage"] | components["schemas"]["SlicesMessage"] | components["schemas"]["StartOverMessage"] | components["schemas"]["WalletMessage"] | components["schemas"]["WatchEndedMessage"] | components["schemas"]["WhyMessage"];
        /**
         * FollowLogMessage
         * @description Send me the log of a slice's attempts as it is written, from `offset` of `attempt` on.
         */
        FollowLogMessage: {
            /**
             * Attempt
             * @description The newest from its beginning, if it is not said.
             * @default null
             */
            attempt?: number | null;
            /** Job Id */
            job_id: string;
            /**
             * Offset
             * @description Only with `attempt`.
             * @default 0
             */
            offset?: number;
            /**
             * Slice
             * @default 0
             */
            slice?: number;
            /**
             * Type
             * @default follow_log
             * @constant
             */
            type?: "follow_log";
        };
        /** UnfollowLogMessage */
        UnfollowLogMessage: {
            /** Job Id */
            job_id: string;
            /**
             * Slice
             * @default 0
             */
            slice?: number;
            /**
             * Type
             * @default unfollow_log
             * @constant
             */
            type?: "unfollow_log";
        };
        /** UnwatchMessage */
        UnwatchMessage: {
            /** Job Id */
            job_id: string;
            /**
             * Type
             * @default unwatch
             * @constant
             */
            type?: "unwatch";
        };
        /**
         * WatchMessage
         * @description Show me a window of a job's slices, and why it waits. Again with another window: that one instead.
         */
        WatchMessage: {
            /**
             * From Slice
             * @default 0
             */
            from_slice?: number;
            /** Job Id */
            job_id: string;
            /**
             * Slice Limit
             * @default 100
             */
            slice_limit?: number;
            /**
             * Type
             * @default watch
             * @constant
             */
            type?: "watch";
            /**
             * Why
             * @default true
             */
            why?: boolean;
        };
        FromReader: components["schemas"]["FollowLogMessage"] | components["schemas"]["UnfollowLogMessage"] | components["schemas"]["UnwatchMessage"] | components["schemas"]["WatchMessage"];
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
