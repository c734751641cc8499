// Made by `npm run api` from tests/snapshots/event-messages.json, sha256 d27cf574c78e0af352fc3ca7dfe3bd4af8d0b7ab96237274d51ef1f78b96c823. Do not edit.
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
            reason: string | null;
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
            reason: string | null;
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
            reason: string | null;
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
         * JobEndMessage
         * @description The last frame: the job is final, and all that was asked for was sent.
         */
        JobEndMessage: {
            /**
             * Job
             * @description As in `slices`.
             */
            job: {
                [key: string]: unknown;
            };
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
             * @description None on the stream of one job.
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
             * @description Two letters; null for nodes whose owners do not say.
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
            /**
             * Job
             * @description As `GET /jobs/{job_id}` shows it, without `spec` and `slices`.
             */
            job: {
                [key: string]: unknown;
            };
            /**
             * Slices
             * @description As `GET /jobs/{job_id}` shows them.
             */
            slices: {
                [key: string]: unknown;
            }[];
            /**
             * Spec
             * @description The first time: it does not change.
             * @default null
             */
            spec: {
                [key: string]: unknown;
            } | null;
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
        FromHub: components["schemas"]["EventMessage"] | components["schemas"]["HelloMessage"] | components["schemas"]["JobEndMessage"] | components["schemas"]["LogMessage"] | components["schemas"]["MapMessage"] | components["schemas"]["PublicMessage"] | components["schemas"]["RefusedMessage"] | components["schemas"]["SlicesMessage"] | components["schemas"]["StartOverMessage"] | components["schemas"]["WalletMessage"] | components["schemas"]["WatchEndedMessage"] | components["schemas"]["WhyMessage"];
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
