// Made by `npm run api` from tests/snapshots/openapi.json, sha256 28cd6e2a084ff24b5285ea0370ad253c301e33c86b3d641bb834d1b1a6367ce2. Do not edit.
export interface paths {
    "/api/v1/admin/accusations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Accusations
         * @description Results that other nodes found wrong. The open ones wait for an admin.
         */
        get: operations["verification_list_accusations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/accusations/{accusation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Accusation
         * @description One of them.
         */
        get: operations["verification_show_accusation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/accusations/{accusation_id}/confirm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Confirm Accusation
         * @description Confirm that the result was wrong: the node loses what it earned unaudited, and its record.
         */
        post: operations["verification_confirm_accusation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/accusations/{accusation_id}/dismiss": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Dismiss Accusation
         * @description Dismiss what other nodes found: the node loses nothing, and its earnings are free again.
         */
        post: operations["verification_dismiss_accusation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Search Audit
         * @description Who did what to which object. Every change that the hub makes leaves a record.
         */
        get: operations["admin_search_audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/audit/actions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Audit Actions
         * @description What can be asked for as `action`.
         */
        get: operations["admin_list_audit_actions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/audits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Audits
         * @description Every result that was checked: who is accused, what was found, and what is given back.
         */
        get: operations["verification_list_audits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/canaries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Answers
         * @description What canaries are drawn from: results that owners agreed on, and those that operators vouch for.
         */
        get: operations["verification_list_answers"];
        put?: never;
        /**
         * Run Canary
         * @description Let a node run a slice whose right result is known. To the node it looks like paid work.
         */
        post: operations["verification_run_canary"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/canaries/answers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Vouch For Answer
         * @description Vouch for the result of a slice that succeeded: from now on it is sent to nodes, to see who gives it too.
         */
        post: operations["verification_vouch_for_answer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/canaries/answers/{check_id}/withdraw": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Withdraw Answer
         * @description Send what an operator vouched for to nobody any more.
         */
        post: operations["verification_withdraw_answer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/cash-outs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List All
         * @description Everybody's.
         */
        get: operations["cash_outs_list_all"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/cash-outs/{cash_out_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show For Admin
         * @description One of them.
         */
        get: operations["cash_outs_show_for_admin"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/cash-outs/{cash_out_id}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Approve
         * @description It may be paid: now by the processor, or by an operator, who says so with `paid`.
         */
        post: operations["cash_outs_approve"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/cash-outs/{cash_out_id}/paid": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Mark Paid
         * @description An operator sent the money.
         */
        post: operations["cash_outs_mark_paid"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/cash-outs/{cash_out_id}/reject": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reject
         * @description The credits go back to the host's earnings.
         */
        post: operations["cash_outs_reject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/cash-outs/{cash_out_id}/reverse": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reverse
         * @description The processor takes back what it paid, or a part of it. It pays what the host owes, the rest is earnings.
         */
        post: operations["cash_outs_reverse"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/contests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Contests
         * @description What owners of nodes object to.
         */
        get: operations["reputation_list_contests"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/contests/{event_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Contest
         * @description One of them, with the attempt that it is about.
         */
        get: operations["reputation_show_contest"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/contests/{event_id}/resolve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resolve Contest
         * @description Uphold or dismiss a contest. What is upheld counts as if it had never happened.
         */
        post: operations["reputation_resolve_contest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/disputes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List All
         * @description Everybody's, and what banks took back.
         */
        get: operations["disputes_list_all"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/disputes/{dispute_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Facts
         * @description With all that it takes to decide: jobs, attempts, receipts, logs, and what is known of the nodes.
         */
        get: operations["disputes_show_facts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/disputes/{dispute_id}/resolve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resolve
         * @description Give back everything, a part, or nothing. It is taken from the hosts, and with the fee from the platform.
         */
        post: operations["disputes_resolve"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/grants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Grant
         * @description Give credits: for money that was paid elsewhere, or as promotional credit.
         */
        post: operations["payments_grant"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/ledger": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Ledger
         * @description What the last check of the ledger found. It runs every hour; nothing is checked now.
         */
        get: operations["admin_show_ledger"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/ledger/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check Ledger
         * @description Sum up everything again, now. If it does not add up, nobody is paid out until it does.
         */
        get: operations["wallet_check_ledger"];
        put?: never;
        /**
         * Check Ledger
         * @description Sum up everything again, now. If it does not add up, nobody is paid out until it does.
         */
        post: operations["admin_check_ledger"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/ledger/write-offs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Write Off
         * @description The pool bears what somebody owes and will not pay. Renters who wait for it are paid.
         */
        post: operations["payments_write_off"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/limits/{owner_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Limits
         * @description Of one renter: what it may have of other people's nodes, and has.
         */
        get: operations["limits_show"];
        /**
         * Set Limits
         * @description For one renter, in place of the pool's defaults. It holds for what is begun from now on.
         */
        put: operations["limits_set"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/mails": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Mails
         * @description What was written to people in the last month, and what became of it.
         */
        get: operations["mail_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/mails/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send Test
         * @description Send one now, to see whether mails arrive. Says what the server answered.
         */
        post: operations["mail_send_test"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/mails/{mail_id}/resend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resend
         * @description Try one again that was given up.
         */
        post: operations["mail_resend"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/market/regions/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Import Regions
         * @description Read regions from CSV, such as an index of purchasing power that somebody published.
         */
        post: operations["market_import_regions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/market/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Table
         * @description The tiers, the regions, or the rates, with every version there was.
         */
        get: operations["market_show_table"];
        /**
         * Change Table
         * @description Replace one of them. It counts from the next lease on; what runs keeps its price.
         */
        put: operations["market_change_table"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/nodes/{node_id}/unverify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Unverify Node
         * @description Take that back: from the next lease on.
         */
        post: operations["reputation_unverify_node"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/nodes/{node_id}/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Verify Node
         * @description Its owner, and where the earnings go, were checked. The rest of what `verified` needs is measured.
         */
        post: operations["reputation_verify_node"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Overview
         * @description Jobs, work, waiting times, people and money by day of UTC: today, and the last days with today.
         *
         *     Queue length, nodes online and utilisation over time are at `admin/series`; what needs a person, at
         *     `admin/queue`.
         */
        get: operations["admin_show_overview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/payments/differences": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Differences
         * @description Where the processor and the ledger disagree about money. `everything`: settled ones too.
         */
        get: operations["payments_list_differences"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/payments/differences/{difference_id}/settle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Settle Difference
         * @description An operator looked into it, and nothing more is to be done.
         */
        post: operations["payments_settle_difference"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/payments/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Events
         * @description What the processor told, and what came of it.
         */
        get: operations["payments_list_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/payments/events/{event_id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replay Event
         * @description Look into one again. Money that moved is not moved twice.
         */
        post: operations["payments_replay_event"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/payments/reconcile": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reconcile
         * @description Compare the last days now, without waiting for the night.
         */
        post: operations["payments_reconcile"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/payments/requests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Requests
         * @description What the hub asked the processor for. `kind=refund`: refunds to cards.
         */
        get: operations["payments_list_requests"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/queue": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Queue
         * @description What needs a person, the longest waiting first, and how many there are of each kind.
         *
         *     Events of the type `admin` tell of new ones.
         */
        get: operations["admin_list_queue"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/reports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Report
         * @description By day of UTC: jobs, spending, fees, refunds. Then what is due now, and how reliable hosts are.
         */
        get: operations["disputes_report"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/series": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Pool Series
         * @description Queue length, waiting time, start latency, nodes online and utilisation: without `since`, of the last day.
         *
         *     The last week has a step of a minute, and what is older of an hour.
         */
        get: operations["history_pool_series"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Settings
         * @description Everything that an admin can change while the hub runs: what is in force, and where it comes from.
         */
        get: operations["settings_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/settings/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Setting
         * @description One of them.
         */
        get: operations["settings_show"];
        /**
         * Change Setting
         * @description Change one. It counts at once, without a restart; what leases have locked stays as it was.
         */
        put: operations["settings_change"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/settings/{name}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Setting Changes
         * @description Who changed it to what, when and why; the newest first.
         */
        get: operations["settings_list_changes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/settings/{name}/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Preview Setting
         * @description Check a value, and say what it would change, with examples for the fee and for storage.
         */
        post: operations["settings_preview"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/settings/{name}/reset": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reset Setting
         * @description Go back to what the hub's environment says.
         */
        post: operations["settings_reset"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/storage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Usage
         * @description Who stores how much, and may.
         */
        get: operations["storage_list_usage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/storage/{owner_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Owner
         * @description What one account has stored, and may.
         */
        get: operations["storage_show_owner"];
        /**
         * Set Limits
         * @description For one account, in place of the pool's. With bytes of its own it is not limited by the day.
         */
        put: operations["storage_set_limits"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/storage/{owner_id}/reconcile": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reconcile
         * @description Count anew what an account has stored, from what there is, and write that down.
         */
        post: operations["storage_reconcile"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/top-ups": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Everybodys Top Ups
         * @description Everybody's, with what of each could go back to its card.
         */
        get: operations["payments_list_everybodys_top_ups"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/top-ups/{top_up_id}/refund": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Refund Top Up
         * @description Unspent credits of a top-up go back to the card that paid for them.
         */
        post: operations["payments_refund_top_up"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Users
         * @description Everybody who has an account. `search`: a part of an address or a name, or an id.
         */
        get: operations["accounts_list_users"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/users/{user}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show User
         * @description One of them, by id or e-mail address.
         */
        get: operations["accounts_show_user"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/users/{user}/disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Disable User
         * @description Close an account. Sessions, tokens, join tokens and open streams end at once, and nobody can sign in to it.
         *     While it is closed, its links to jobs show nothing, and its public name is not shown.
         *
         *     Nodes of the user go on working. Jobs that wait or run go on too, unless `cancel_jobs` is set. Credits stay.
         */
        post: operations["accounts_disable_user"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/users/{user}/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Enable User
         * @description Open a disabled account again. What ended stays ended: they sign in anew.
         */
        post: operations["accounts_enable_user"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/users/{user}/role": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Change Role
         * @description Let somebody run the pool, or no longer. Their sessions and tokens end: they were made in the old role.
         */
        put: operations["accounts_change_role"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/users/{user}/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List User Sessions
         * @description Where somebody is signed in.
         */
        get: operations["accounts_list_user_sessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/vouchers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List
         * @description All vouchers, without their codes: only digests of them are stored.
         */
        get: operations["vouchers_list"];
        put?: never;
        /**
         * Make
         * @description Make one. Its code is told once.
         */
        post: operations["vouchers_make"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/vouchers/{voucher_id}/redemptions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Redemptions
         * @description Who redeemed it, the newest first.
         */
        get: operations["vouchers_list_redemptions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/vouchers/{voucher_id}/withdraw": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Withdraw
         * @description Nobody can redeem it any more; who has keeps what they got.
         */
        post: operations["vouchers_withdraw"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/withdrawals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Withdraw
         * @description Take credits back, for money that was returned elsewhere.
         */
        post: operations["payments_withdraw"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/artifacts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Artifacts
         * @description Your files: bundles, inputs, outputs, and what checkpoints are made of. Bundles and inputs can be given to
         *     other jobs by their ids.
         */
        get: operations["storage_list_artifacts"];
        put?: never;
        /**
         * Announce Artifact
         * @description Say what you have. What the hub has already is `stored`; of the rest it lists the parts to bring.
         */
        post: operations["artifacts_announce"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/artifacts/{artifact_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Artifact
         * @description One artifact; once it is stored, with URLs to fetch it.
         */
        get: operations["artifacts_show"];
        put?: never;
        post?: never;
        /**
         * Delete Artifact
         * @description Delete a bundle, an input, or an output of a job that has ended. What an open job needs is refused.
         */
        delete: operations["storage_delete_artifact"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/artifacts/{artifact_id}/complete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Complete Artifact
         * @description All parts are uploaded: check that they are there, and store it for good.
         */
        post: operations["artifacts_complete"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/device": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Begin Device Login
         * @description Begin a login on a device without a browser: a code for a person to type, and one to ask with.
         */
        post: operations["accounts_begin_device_login"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/device/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Decide Device Login
         * @description Let the device with this code act for the caller, or deny it.
         */
        post: operations["accounts_decide_device_login"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/device/look": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Look At Device Login
         * @description What waits for this code: which program, from where and since when, and what it will be able to do.
         */
        post: operations["accounts_look_at_device_login"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/device/token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Poll Device Login
         * @description Ask whether the person has agreed yet. `authorization_pending` means: ask again after the interval.
         */
        post: operations["accounts_poll_device_login"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Login
         * @description Sign in with email and password. Tries that fail have to wait longer and longer.
         */
        post: operations["accounts_login"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Logout
         * @description End the session of the refresh token; without one, that of the access token, and that of the browser's cookie
         *     if the request comes from a page of the hub itself.
         */
        post: operations["accounts_logout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/one-time": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign In Once
         * @description Trade the token of a sign-in link for a session.
         */
        post: operations["accounts_sign_in_once"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/refresh": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Refresh
         * @description Trade a refresh token for the next pair. Each can be used once; one that is used again ends its session.
         *
         *     A browser leaves it out and sends its cookie, from a page of the hub itself.
         */
        post: operations["accounts_refresh"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/register": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Register
         * @description Make an account and sign in to it, where the operator lets people register.
         */
        post: operations["accounts_register"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/config": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Config
         * @description How one signs in here, what the pool does, and the limits of what it takes.
         */
        get: operations["public_config"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/disputes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List
         * @description One's own.
         */
        get: operations["disputes_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/disputes/{dispute_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show
         * @description One of one's own, and what came of it.
         */
        get: operations["disputes_show"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Listen
         * @description Everything that happens to what is yours, as server-sent events: the messages of `WS /api/v1/events` but
         *     those that are asked for. With `Last-Event-ID`, or `after`, it goes on behind that event. With `follow=false` it
         *     ends when all events there are were sent.
         */
        get: operations["events_listen"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/schema": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Schema
         * @description The JSON Schema of every message of every stream.
         */
        get: operations["events_schema"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/files/logs/{attempt_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download Log
         * @description The log as a file, by the `url` of its info: what there is now of it.
         */
        get: operations["jobs_download_log"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/files/outputs/{artifact_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download Output
         * @description An output as a file, by its `url`: its parts in one answer, or with a Range header a part of it.
         */
        get: operations["jobs_download_output"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/files/previews/{artifact_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Preview Output
         * @description An output to be shown, by its `preview_url`. Nothing in it can run.
         */
        get: operations["jobs_preview_output"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/files/zips/{job_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download Zip
         * @description All outputs of a job as one zip archive, by the `zip_url` of their list. Those of a job with several slices
         *     are in a folder for each slice. Its Content-Length tells a whole answer from one that was cut off.
         */
        get: operations["jobs_download_zip"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/invitations/accept": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Accept Invitation
         * @description Join the team of an invitation that was made for the caller's address.
         */
        post: operations["teams_accept_invitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Jobs
         * @description The newest first. An admin sees everybody's, or with `mine` as others do: their own and their teams'.
         */
        get: operations["jobs_list"];
        put?: never;
        /**
         * Submit Job
         * @description The body is the spec as JSON; or multipart, with the spec as `spec` and an archive as `bundle`.
         */
        post: operations["jobs_submit"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Check Job
         * @description What the pool makes of a spec, and what is wrong with it, field by field. Nothing is stored.
         *
         *     A spec that is not valid is answered with 200, `valid: false` and `errors`, which have a line and a column where
         *     the text is YAML.
         */
        post: operations["jobs_check"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Job
         * @description With its slices from `from_slice` on. `next_slice` says where they go on, if not all of them are shown.
         */
        get: operations["jobs_show"];
        put?: never;
        post?: never;
        /**
         * Delete Job
         * @description Delete a job that has ended, with its logs, outputs and checkpoints. What was paid for it stays on record.
         */
        delete: operations["storage_delete_job"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/artifacts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Artifacts
         * @description What the job left behind, of each slice's deciding attempt, with URLs to fetch it.
         */
        get: operations["jobs_list_artifacts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel Job
         * @description What waits is canceled at once; what runs is told to stop, and the job ends when it has.
         */
        post: operations["jobs_cancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/checks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Checks
         * @description Its replicas, and which of its results others computed too, with what was found.
         */
        get: operations["verification_show_checks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/clone": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Clone Job
         * @description Everything to submit the job again with changes. Nothing is submitted.
         */
        get: operations["jobs_clone"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/dispute": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Open
         * @description Say that a finished job was not worth what it cost. An operator looks at it.
         */
        post: operations["disputes_open"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Explain Job
         * @description Where every credit of a job went: for its renter, and for the hosts of its attempts in their own view.
         */
        get: operations["wallet_explain_job"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read Logs
         * @description Raw bytes from `after` on; or backwards, with `tail`, `before` or both. `X-Next-Offset` says where to go on,
         *     `X-Log-Complete` whether more can come.
         *
         *     What is read backwards begins with a whole line, unless that line alone has more bytes than `limit`.
         *     `X-First-Line` is the number of that line. To go on backwards, send `X-First-Offset` as `before`.
         */
        get: operations["jobs_read_logs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/logs/info": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Log Info
         * @description The size of a log in bytes and lines, also while it is written, and the attempts that have one.
         */
        get: operations["jobs_show_log_info"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/logs/raw": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read Whole Log
         * @description The log in one answer, however long it is: from `after` on, up to what there is now or to `before`. Its
         *     Content-Length tells a whole answer from one that was cut off. To follow a log that grows, go on with
         *     `X-Next-Offset` at `jobs/{job_id}/logs` or at the live stream.
         */
        get: operations["jobs_read_whole_log"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/receipts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Receipts
         * @description The signed manifest and receipt of every attempt that ended on its node, by slice and number.
         */
        get: operations["jobs_list_receipts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry Job
         * @description The same spec as a new job, linked to the old one: those slices that did not succeed, with their numbers; or
         *     all of them, if none failed or with `all`.
         */
        post: operations["jobs_retry"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/shares": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Shares
         * @description The links that work, newest first.
         */
        get: operations["shares_list"];
        put?: never;
        /**
         * Create Share
         * @description Make a link by which everybody who has it can see the job, without its command, environment or nodes.
         */
        post: operations["shares_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/shares/{share_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke Share
         * @description Nobody sees the job by this link any more.
         */
        delete: operations["shares_revoke"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/slices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Slices
         * @description All slices at a glance, one letter each. `GET jobs/{job_id}?from_slice=` has their details.
         */
        get: operations["jobs_show_slices"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/timeline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Job Timeline
         * @description What happened to the job and its attempts, oldest first; with `slice`, to one slice.
         */
        get: operations["history_job_timeline"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Job Usage
         * @description What an attempt of the caller's job used over time: of the slice's newest attempt, or of the one asked for.
         *
         *     Without `since` the whole attempt. An attempt begins with a step of 10 seconds; a long one has a wider step.
         */
        get: operations["history_job_usage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/verification": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Verify Job
         * @description Check the signatures under what ran, that orders and answers belong together, and what is stored.
         */
        get: operations["jobs_verify"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/why": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Why
         * @description Why it still waits: how many nodes each gate removed, and what would help.
         */
        get: operations["jobs_why"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Keys
         * @description The hub's public keys: what manifests are signed with.
         */
        get: operations["public_keys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/leaderboard": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Leaderboard
         * @description Who did most for others. Only owners who chose a public name (`PATCH me`) are named; simulated nodes do not
         *     count.
         */
        get: operations["public_leaderboard"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/map": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Map
         * @description How many nodes there are, by country, tier and state. `public/events?map=true` tells changes.
         */
        get: operations["public_show_map"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/market/earnings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Earnings
         * @description What a card would earn here: one, or each of the table. `tariff` is in credits for a kilowatt-hour.
         */
        get: operations["market_earnings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/market/filters": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Filters
         * @description By what offers can be filtered and ordered, with the values that offers have now: what a form needs.
         */
        get: operations["market_filters"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/market/nodes/{node_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Market Node
         * @description A node that takes strangers' work, also while it is busy or away: its hardware, its record and its price. One
         *     that its owner keeps from strangers is not found.
         */
        get: operations["market_show_node"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/market/offers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Offers
         * @description Nodes that take work now, with their prices: `?filter=gpu=rtx-4090 reliability>0.9 price<40&order=price`, or
         *     the same as `?gpu=rtx-4090&min_reliability=0.9&max_price=40`. `market/filters` lists both.
         *
         *     The cheapest come first if no order is named; without money, the most reliable.
         */
        get: operations["market_offers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/market/prices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Prices
         * @description What the pool suggests now for each kind of card in each region; with `?history=24h` its past too.
         */
        get: operations["market_prices"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/market/prices/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Prices Over Time
         * @description What the pool suggested for each kind of card in each region: without `since`, of the last day.
         */
        get: operations["market_prices_over_time"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/market/quote": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Market Quote
         * @description What a job would cost now and at most, where, and whether it could begin now. The body is its spec, with or
         *     without `run`; nothing is stored.
         *
         *     `signed_by` is the id of the key that will sign it: the caller's own nodes may take only such jobs for theirs.
         */
        post: operations["market_quote"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Me
         * @description Who is asking, and what this token may do.
         */
        get: operations["accounts_me"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change Me
         * @description Change name, country, public name, or which mails to get. What is left out stays.
         */
        patch: operations["accounts_change_me"];
        trace?: never;
    };
    "/api/v1/me/limits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Own Limits
         * @description How much of other people's nodes you may have at once, and may spend; and what of it you have.
         */
        get: operations["limits_show_own"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/me/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change Password
         * @description Change the password, or set a first one. Every session of the account ends; the answer is a new one.
         *
         *     Needs a session: a personal token cannot do it. Personal tokens stay.
         */
        post: operations["accounts_change_password"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/me/storage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Usage
         * @description How much you have stored, and how much you may.
         */
        get: operations["storage_show_usage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Nodes
         * @description The caller's own machines; an admin sees everybody's.
         */
        get: operations["nodes_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/enroll": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Enroll
         * @description A machine becomes a node. Proven by a join token, and a signature with the key that it brings.
         *
         *     May be repeated with the same token and key while the token has not expired: a lost answer costs nothing.
         */
        post: operations["nodes_enroll"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/join-tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Join Tokens
         * @description The caller's join tokens, and which nodes joined with them; an admin sees everybody's.
         */
        get: operations["nodes_list_join_tokens"];
        put?: never;
        /**
         * Create Join Token
         * @description A token that lets machines enrol as nodes of the caller, and the lines to run there.
         *
         *     Its text is in this answer alone, and in that to the same request repeated with the same key.
         */
        post: operations["nodes_create_join_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/join-tokens/{token_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke Join Token
         * @description Let no more machines join with it. Those that did stay.
         */
        delete: operations["nodes_revoke_join_token"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{node_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Node
         * @description One machine: what it has, what it does, and what is known of it.
         */
        get: operations["nodes_show"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change Node
         * @description Name, tags, country or price. What is left out stays as it is.
         */
        patch: operations["nodes_change"];
        trace?: never;
    };
    "/api/v1/nodes/{node_id}/attempts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Node Attempts
         * @description What one of the caller's machines ran and runs, without whose it was or what it did.
         */
        get: operations["history_node_attempts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{node_id}/ban": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ban Node
         * @description Take it out of the pool for good.
         */
        post: operations["nodes_ban"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{node_id}/drain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Drain Node
         * @description What runs is finished; nothing new starts, until it is resumed.
         */
        post: operations["nodes_drain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{node_id}/key": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replace Key
         * @description A node replaces its keys. Proven by signatures with the key that it has and with the new one.
         *
         *     The earlier key is refused from then on. May be repeated: a lost answer costs nothing.
         */
        post: operations["nodes_replace_key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{node_id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause Node
         * @description Ask the agent to take the machine back at once, as `computepool agent pause` does there.
         */
        post: operations["nodes_pause"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{node_id}/policy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Policy
         * @description What the owner allows on a machine, as its agent last told it, and what it was asked to change.
         */
        get: operations["nodes_show_policy"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change Policy
         * @description Ask the agent to change its hours and idle rules. It follows or refuses; `policy_request` tells which.
         *
         *     Everything else of the policy is changed on the machine itself.
         */
        patch: operations["nodes_change_policy"];
        trace?: never;
    };
    "/api/v1/nodes/{node_id}/price-preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Preview Price
         * @description What a price would mean for a node: its rank among comparable offers, and what it would earn in a day.
         */
        get: operations["nodes_preview_price"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{node_id}/reliability": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Reliability
         * @description How reliable a node is taken to be, what that is made of, and everything that moved it.
         */
        get: operations["reputation_show_reliability"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{node_id}/reliability/{event_id}/contest": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Contest Event
         * @description Say that it was not the node's fault. An operator looks at it; upheld, it is taken off the score.
         */
        post: operations["reputation_contest_event"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{node_id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume Node
         * @description Take work again after a drain.
         */
        post: operations["nodes_resume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{node_id}/telemetry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Node Telemetry
         * @description The load of one of the caller's machines: without `since`, of the last day.
         *
         *     The last hour has a step of a minute, the last week of 15 minutes, and what is older of an hour.
         */
        get: operations["history_node_telemetry"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{node_id}/unpause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Unpause Node
         * @description Ask the agent to end a pause that was asked for here. One that was made on the machine is ended there.
         */
        post: operations["nodes_unpause"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/notices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List
         * @description What the caller should know, the newest first. Kept for 90 days. `notice` in the event stream tells of new
         *     ones.
         */
        get: operations["notices_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/notices/read": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Mark Read
         * @description Mark notices as read. Ids of others, and of those that are gone, are passed over.
         */
        post: operations["notices_mark_read"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/payments/stripe/webhook": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Receive Webhook
         * @description Stored before it is answered; looked into afterwards.
         */
        post: operations["payments_receive_webhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/public/catalog": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Catalog
         * @description Everything that a form for jobs, or a filter, offers to choose from.
         */
        get: operations["public_catalog"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/public/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Listen To Pool
         * @description How large the pool is, how busy, and its prices, as server-sent events: when they change, at most once a
         *     second. With `map=true` the map too: all its cells, then those that change. With `follow=false` only as they
         *     are now.
         */
        get: operations["events_listen_to_pool"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/public/shares/{token}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Shared
         * @description A job that its owner shares. Needs no token but the one in the link.
         */
        get: operations["shares_show_shared"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/public/shares/{token}/log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read Shared Log
         * @description Raw bytes from `after` on, of the slice's newest attempt.
         */
        get: operations["shares_read_shared_log"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/public/shares/{token}/outputs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Shared Outputs
         * @description Which files the job left behind. The files themselves are its owner's to give.
         */
        get: operations["shares_list_shared_outputs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Sessions
         * @description Where the caller is signed in.
         */
        get: operations["accounts_list_sessions"];
        put?: never;
        post?: never;
        /**
         * End Sessions
         * @description Sign out everywhere, at once; with `keep_current` everywhere else. Personal tokens stay: see `tokens`.
         */
        delete: operations["accounts_end_sessions"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * End Session
         * @description Sign one of them out, at once.
         */
        delete: operations["accounts_end_session"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Stats
         * @description How large the pool is, how busy, and what it did, without anybody's names.
         */
        get: operations["public_stats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/teams": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Teams
         * @description The teams that the caller belongs to, and the caller's role in each.
         */
        get: operations["teams_list"];
        put?: never;
        /**
         * Create Team
         * @description Make a team. The caller is its owner.
         */
        post: operations["teams_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/teams/{team}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Team
         * @description One of them, by handle or id.
         */
        get: operations["teams_show"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change Team
         * @description Change handle or name; for owners.
         */
        patch: operations["teams_change"];
        trace?: never;
    };
    "/api/v1/teams/{team}/invitations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Invitations
         * @description Those that can still be accepted.
         */
        get: operations["teams_list_invitations"];
        put?: never;
        /**
         * Invite
         * @description Invite the person with this address. The answer has the token to hand to them; it is good for seven days and
         *     one use, and replaces an earlier invitation of the same address.
         */
        post: operations["teams_invite"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/teams/{team}/invitations/{invitation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke Invitation
         * @description Take an invitation back.
         */
        delete: operations["teams_revoke_invitation"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/teams/{team}/leave": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Leave Team
         * @description Leave the team. Its last owner cannot.
         */
        post: operations["teams_leave"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/teams/{team}/members": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Members
         * @description Who belongs to the team, those who came first at the top.
         */
        get: operations["teams_list_members"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/teams/{team}/members/{user_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove Member
         * @description Remove a member; a service account ends. What they began goes on as the team's.
         */
        delete: operations["teams_remove_member"];
        options?: never;
        head?: never;
        /**
         * Change Member
         * @description Give a member another role. It counts at once.
         */
        patch: operations["teams_change_member"];
        trace?: never;
    };
    "/api/v1/teams/{team}/service-accounts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create Service Account
         * @description Make an account for programs, such as CI, and its first token. It acts for the team alone.
         */
        post: operations["teams_create_service_account"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/teams/{team}/service-accounts/{user_id}/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create Service Token
         * @description Another token for a service account. Its earlier ones go on.
         */
        post: operations["teams_create_service_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Tokens
         * @description The caller's personal access tokens, without their text. The newest first.
         */
        get: operations["accounts_list_tokens"];
        put?: never;
        /**
         * Create Token
         * @description Its text is in this answer alone, and in that to the same request repeated with the same key.
         */
        post: operations["accounts_create_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens/{token_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke Token
         * @description It stops working at once.
         */
        delete: operations["accounts_revoke_token"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/version": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Version
         * @description The hub's version, and the oldest agent that it takes.
         */
        get: operations["public_version"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/wallet": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show
         * @description What there is, by pocket.
         */
        get: operations["wallet_show"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/wallet/card": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Save Card
         * @description A page of the processor's on which to leave a card for later.
         */
        post: operations["payments_save_card"];
        /**
         * Forget Card
         * @description Forget the saved card: nothing is charged to it any more.
         */
        delete: operations["payments_forget_card"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/wallet/cash-outs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List
         * @description One's own; what can be cashed out now, and when the rest can.
         */
        get: operations["cash_outs_list"];
        put?: never;
        /**
         * Request
         * @description Ask for earnings to be paid out. They are set aside at once, and come back if it is rejected.
         */
        post: operations["cash_outs_request"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/wallet/cash-outs/{cash_out_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show
         * @description One of one's own.
         */
        get: operations["cash_outs_show"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/wallet/cash-outs/{cash_out_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel
         * @description Take it back before an operator has decided. The credits go back to the earnings, or fill a debt.
         */
        post: operations["cash_outs_cancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/wallet/earnings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Earnings
         * @description What one's nodes earned, by node and day of UTC; the last thirty days, if not said otherwise.
         */
        get: operations["wallet_earnings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/wallet/entries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Entries
         * @description Everything that came and went, the newest first. `until` itself is not included.
         */
        get: operations["wallet_entries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/wallet/payments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show
         * @description How credits are bought and paid out here, and what the caller arranged.
         */
        get: operations["payments_show"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/wallet/payout-account": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Payout Account
         * @description Where cash-outs are paid to, and what is still missing for it.
         */
        get: operations["payments_show_payout_account"];
        put?: never;
        /**
         * Begin Payout Account
         * @description Say where money goes, on the processor's own page.
         */
        post: operations["payments_begin_payout_account"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/wallet/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Set Plan
         * @description What may be charged to the saved card without asking each time.
         */
        put: operations["payments_set_plan"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/wallet/statements": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Statement Periods
         * @description The months and years that have entries: each has a statement.
         */
        get: operations["wallet_statement_periods"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/wallet/statements/{period}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Statement
         * @description A month or a year, such as 2026-11 or 2026: the balance before, every entry, the balance after, and sums.
         *
         *     One that is not over goes up to now; one that has not begun is refused.
         */
        get: operations["wallet_statement"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/wallet/top-ups": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Top Ups
         * @description The caller's top-ups.
         */
        get: operations["payments_list_top_ups"];
        put?: never;
        /**
         * Top Up
         * @description Buy credits. The answer says where to pay; without a processor, whom to ask.
         */
        post: operations["payments_top_up"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/wallet/top-ups/quote": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Quote Top Up
         * @description What so many credits cost, or how many credits so much money buys: one of the two. Nothing is charged.
         */
        get: operations["payments_quote_top_up"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/wallet/top-ups/{top_up_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Top Up
         * @description One top-up, and where it is.
         */
        get: operations["payments_show_top_up"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/wallet/vouchers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Redeem
         * @description Get the credits of a voucher: to be spent, never cashed out.
         */
        post: operations["vouchers_redeem"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Healthz
         * @description The process lives.
         */
        get: operations["health_healthz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Metrics
         * @description Figures for Prometheus. Only for this machine itself, or with an admin's token.
         */
        get: operations["health_metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Readyz
         * @description It can do its work: the database answers.
         */
        get: operations["health_readyz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** AcceptRequest */
        AcceptRequest: {
            /**
             * Token
             * @description The token.
             */
            token: string;
        };
        /** AccountRequest */
        AccountRequest: {
            /**
             * Country
             * @description As two letters of ISO 3166; null where it is not known.
             */
            country?: string | null;
        };
        /** AccusationActions */
        AccusationActions: {
            /** @description Say that the result was wrong: `POST /admin/accusations/{accusation_id}/confirm`. */
            confirm: components["schemas"]["ActionView"];
            /** @description Say that the node is not to blame: `POST /admin/accusations/{accusation_id}/dismiss`. */
            dismiss: components["schemas"]["ActionView"];
        };
        /** AccusationPage */
        AccusationPage: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["AccusationView"][];
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
            /**
             * Total
             * @description How many match in all; null for more than 10,000.
             */
            total: number | null;
        };
        /**
         * AccusationState
         * @enum {string}
         */
        AccusationState: "open" | "confirmed" | "dismissed";
        /**
         * AccusationView
         * @description A result that other nodes found wrong, for an admin to decide.
         */
        AccusationView: {
            /** @description What an admin may do about it. */
            actions: components["schemas"]["AccusationActions"];
            /**
             * Attempt Id
             * @description The id of the attempt.
             */
            attempt_id: string;
            /**
             * Check Id
             * @description The id of the check.
             */
            check_id: string;
            /**
             * Created At
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Decided At
             * @description When it was decided; null before.
             */
            decided_at: string | null;
            /**
             * Decided By
             * @description The user who decided it; null before.
             */
            decided_by: string | null;
            /**
             * Decided By Email
             * @description Null before, and where it was not a person.
             */
            decided_by_email: string | null;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Job Id
             * @description The id of the job.
             */
            job_id: string;
            /**
             * Kind
             * @description replicas, audit or canary: how it was found.
             * @enum {string}
             */
            kind: "replicas" | "audit" | "canary" | "known";
            /**
             * Node Id
             * @description The id of the node.
             */
            node_id: string;
            /**
             * Node Name
             * @description The name of the node.
             */
            node_name: string;
            /**
             * Note
             * @description What the person who did it wrote.
             */
            note: string | null;
            /**
             * Owner Email
             * @description A team has none.
             */
            owner_email: string | null;
            /**
             * Owner Id
             * @description Of the node.
             */
            owner_id: string;
            /**
             * Proven
             * @description Whether nodes with a record of right results found it. Else only the pay of this attempt is at stake.
             */
            proven: boolean;
            /**
             * Slice
             * @description The number of the slice, counted from 0.
             */
            slice: number;
            /** @description open, confirmed or dismissed. */
            state: components["schemas"]["AccusationState"];
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
             */
            reason: string | null;
        };
        /**
         * AdminCashOutActions
         * @description What an admin may do about a cash-out.
         */
        AdminCashOutActions: {
            /** @description Let it be paid. */
            approve: components["schemas"]["ActionView"];
            /** @description Say that the money was sent by hand. */
            mark_paid: components["schemas"]["ActionView"];
            /** @description Give the credits back to the host. */
            reject: components["schemas"]["ActionView"];
            /** @description Let the processor take back what it paid. */
            reverse: components["schemas"]["ActionView"];
        };
        /** AdminCashOutList */
        AdminCashOutList: {
            /**
             * Frozen
             * @description The ledger does not add up: nobody is paid out until it does.
             */
            frozen: boolean;
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["AdminCashOutView"][];
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
            /**
             * Total
             * @description How many match in all; null for more than 10,000.
             */
            total: number | null;
        };
        /** AdminCashOutView */
        AdminCashOutView: {
            /** @description What its owner may do. */
            actions: components["schemas"]["CashOutActions"];
            /** @description What an admin may do about it. */
            admin_actions: components["schemas"]["AdminCashOutActions"];
            /**
             * Amount
             * @description In the pool's currency.
             */
            amount: string;
            /**
             * Approved At
             * @description When it was approved.
             */
            approved_at: string | null;
            /**
             * Asked By
             * @description The user who asked for it.
             */
            asked_by: string;
            /**
             * Created At
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Credits
             * @description How much, in credits.
             */
            credits: string;
            /**
             * Debt Micros
             * @description What they owe the pool: not approved before that is paid.
             */
            debt_micros: number;
            /**
             * Decided By
             * @description The user who decided it; null before.
             */
            decided_by: string | null;
            /**
             * Email
             * @description The e-mail address; null for a team.
             */
            email: string | null;
            /**
             * Ended At
             * @description When it came to its end; null before.
             */
            ended_at: string | null;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Message
             * @description The state in words, for people.
             */
            message: string;
            /**
             * Micros
             * @description How much, in micro-credits.
             */
            micros: number;
            /**
             * Note
             * @description What the person who did it wrote.
             */
            note: string;
            /**
             * Owner Id
             * @description The user or team that it belongs to.
             */
            owner_id: string;
            /**
             * Reference
             * @description What identifies the payment on a bank statement.
             */
            reference: string | null;
            /**
             * Returned Micros
             * @description What was taken back after it was paid.
             */
            returned_micros: number;
            /** @description In which state it is. */
            state: components["schemas"]["CashOutState"];
            /**
             * Way
             * @description By which way it is paid.
             */
            way: string | null;
        };
        /** AdminDisputeList */
        AdminDisputeList: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["AdminDisputeView"][];
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
            /**
             * Total
             * @description How many match in all; null for more than 10,000.
             */
            total: number | null;
        };
        /** AdminDisputeView */
        AdminDisputeView: {
            /** @description What an admin may do about it. */
            actions: components["schemas"]["DisputeActions"] | null;
            /**
             * Bank
             * @description Of a chargeback: opened, won or lost.
             */
            bank: ("opened" | "won" | "lost") | null;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Job Id
             * @description The id of the job.
             */
            job_id: string | null;
            /** @description What kind it is. */
            kind: components["schemas"]["DisputeKind"];
            /**
             * Micros
             * @description What it is about.
             */
            micros: number;
            /**
             * Note
             * @description What the person who did it wrote.
             */
            note: string;
            /**
             * Opened At
             * Format: date-time
             * @description When it was opened.
             */
            opened_at: string;
            /**
             * Opened By
             * @description The user who opened it.
             */
            opened_by: string;
            /**
             * Opened By Email
             * @description Null where it was not a person.
             */
            opened_by_email: string | null;
            /** @description How it was decided; null before. */
            outcome: components["schemas"]["Outcome"] | null;
            /**
             * Owed Micros
             * @description Of what was given back, what hosts had spent already, and owe now.
             */
            owed_micros: number;
            /**
             * Owner Email
             * @description Of the renter; a team has none.
             */
            owner_email: string | null;
            /**
             * Owner Id
             * @description The user or team that it belongs to.
             */
            owner_id: string;
            /**
             * Reason
             * @description Why: a word that stays the same for the same cause.
             */
            reason: string;
            /**
             * Refunded Micros
             * @description What renters got back.
             */
            refunded_micros: number;
            /**
             * Resolved At
             * @description When it was decided; null before.
             */
            resolved_at: string | null;
            /**
             * Resolved By
             * @description The user who decided it; null before.
             */
            resolved_by: string | null;
            /**
             * Resolved By Email
             * @description Null before, and where it was not a person.
             */
            resolved_by_email: string | null;
            /** @description In which state it is. */
            state: components["schemas"]["DisputeState"];
            /**
             * Subject
             * @description What it is about.
             */
            subject: string;
            /**
             * Uncovered Micros
             * @description Of an open one: what hosts do not have any more of a full refund. The pool would pay it, until they have earned
             *     it.
             * @default 0
             */
            uncovered_micros: number;
        };
        /**
         * AdminTopUpActions
         * @description What an admin may do about a top-up.
         */
        AdminTopUpActions: {
            /** @description Send unspent credits back to the card. */
            refund: components["schemas"]["ActionView"];
        };
        /** AdminTopUpList */
        AdminTopUpList: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["AdminTopUpView"][];
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
            /**
             * Total
             * @description How many match in all; null for more than 10,000.
             */
            total: number | null;
        };
        /** AdminTopUpView */
        AdminTopUpView: {
            /** @description What its owner may do. */
            actions: components["schemas"]["TopUpActions"];
            /** @description What an admin may do about it. */
            admin_actions: components["schemas"]["AdminTopUpActions"];
            /**
             * Amount
             * @description In the currency.
             */
            amount: string;
            /**
             * Available Micros
             * @description What the owner has left of credits that were paid for: the most that can go back.
             */
            available_micros: number;
            /**
             * Created At
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Credits
             * @description How much, in credits.
             */
            credits: string;
            /**
             * Email
             * @description Of the owner; a team has none.
             */
            email: string | null;
            /**
             * Ended At
             * @description When it came to its end; null before.
             */
            ended_at: string | null;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Message
             * @description The state in words, for people.
             */
            message: string;
            /**
             * Micros
             * @description How much, in micro-credits.
             */
            micros: number;
            /**
             * Owner Id
             * @description The user or team that it belongs to.
             */
            owner_id: string;
            /** @description In which state it is. */
            state: components["schemas"]["TopUpState"];
            /**
             * Url
             * @description Where the person pays or confirms, while there is something to do.
             */
            url: string | null;
            /**
             * Way
             * @description By which way it is paid.
             * @enum {string}
             */
            way: "checkout" | "card" | "automatic" | "per_job";
        };
        /** Announcement */
        Announcement: {
            /**
             * Digest
             * @description `sha256:` and the digest of the content, in hexadecimal digits.
             * @example sha256:0000000000000000000000000000000000000000000000000000000000000000
             */
            digest: string;
            /**
             * Kind
             * @description What kind it is.
             * @default bundle
             * @enum {string}
             */
            kind?: "bundle" | "input";
            /**
             * Part Digests
             * @description Of each part, in order; needed when there is more than one.
             */
            part_digests?: string[];
            /**
             * Size Bytes
             * @description The size in bytes.
             */
            size_bytes: number;
        };
        /** ArtifactActions */
        ArtifactActions: {
            /** @description Delete it: `DELETE artifacts/{artifact_id}`. */
            remove: components["schemas"]["ActionView"];
        };
        /**
         * ArtifactKind
         * @enum {string}
         */
        ArtifactKind: "bundle" | "input" | "output" | "checkpoint";
        /**
         * ArtifactOrder
         * @description What a list is sorted by; with `-` the largest or newest first.
         * @enum {string}
         */
        ArtifactOrder: "created" | "-created" | "size" | "-size" | "path" | "-path";
        /**
         * ArtifactState
         * @enum {string}
         */
        ArtifactState: "uploading" | "stored" | "abandoned";
        /**
         * ArtifactUse
         * @description A job that was given a bundle or an input.
         */
        ArtifactUse: {
            /**
             * Job Id
             * @description The id of the job.
             */
            job_id: string;
            /**
             * Name
             * @description The name of the job.
             */
            name: string | null;
        };
        /** ArtifactView */
        ArtifactView: {
            /**
             * Created At
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Digest
             * @description `sha256:` and the digest of the content, in hexadecimal digits.
             */
            digest: string;
            /**
             * Downloads
             * @description The parts, in order, of one that is stored.
             */
            downloads: string[];
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /** @description What kind it is. */
            kind: components["schemas"]["ArtifactKind"];
            /**
             * Part Bytes
             * @description The size of each part but the last.
             */
            part_bytes: number;
            /**
             * Size Bytes
             * @description The size in bytes.
             */
            size_bytes: number;
            /** @description In which state it is. */
            state: components["schemas"]["ArtifactState"];
            /**
             * Stored At
             * @description When it was stored; null while parts are missing.
             */
            stored_at: string | null;
            /**
             * Uploads
             * @description The parts that are missing.
             */
            uploads: components["schemas"]["UploadView"][];
        };
        /**
         * AskView
         * @description What is asked for an hour now, fee included: the price of the next lease.
         */
        AskView: {
            /**
             * Core Micros
             * @description Where no GPU is asked for.
             */
            core_micros: number;
            /**
             * Gpu Micros
             * @description None for a node without GPUs.
             */
            gpu_micros: number | null;
            /**
             * Region
             * @description The region of the market.
             */
            region: string;
            /**
             * Spot
             * @description The factor by which demand moves the price now.
             */
            spot: number;
            /**
             * Suggested Core Micros
             * @description What the pool suggests for an hour of a core.
             */
            suggested_core_micros: number;
            /**
             * Suggested Gpu Micros
             * @description What the pool suggests for an hour of a card.
             */
            suggested_gpu_micros: number | null;
            /**
             * Tier
             * @description The multiplier of a card's price.
             */
            tier: number | null;
        };
        /** AttemptExplained */
        AttemptExplained: {
            /**
             * Attempt Id
             * @description The id of the attempt.
             */
            attempt_id: string;
            /**
             * Billed Seconds
             * @description For how many seconds is paid.
             */
            billed_seconds: number;
            /**
             * Change Micros
             * @description What the viewer has more or less by it, all pockets together.
             */
            change_micros: number;
            /**
             * Cost Micros
             * @description All payments together.
             */
            cost_micros: number;
            /**
             * Earned Micros
             * @description What the host earned.
             */
            earned_micros: number;
            /**
             * Fee Micros
             * @description What the platform keeps.
             */
            fee_micros: number;
            /**
             * Held Micros
             * @description Set aside for it now.
             */
            held_micros: number;
            /**
             * Job Id
             * @description Of a replica: the hidden job that it belongs to.
             */
            job_id: string;
            /**
             * Node Id
             * @description The id of the node.
             */
            node_id: string;
            /**
             * Node Name
             * @description The name of the node.
             */
            node_name: string;
            /**
             * Number
             * @description The number of the attempt, counted from 1.
             */
            number: number;
            /**
             * Owed Micros
             * @description To the renter: what the host had to give back and had spent. It comes when the host has earned it.
             * @default 0
             */
            owed_micros: number;
            /**
             * Own
             * @description The node belongs to the job's owner: nothing is paid.
             */
            own: boolean;
            /**
             * Payments
             * @description What was paid, entry by entry.
             */
            payments: components["schemas"]["PaymentView"][];
            /**
             * Pockets
             * @description By pocket of the viewer's, the same.
             */
            pockets: {
                [key: string]: number;
            };
            /**
             * Price Micros
             * @description For an hour, fee included, locked by the lease.
             */
            price_micros: number | null;
            /**
             * Rate
             * @description How that price came about.
             */
            rate: components["schemas"]["Step"][];
            /**
             * Reason
             * @description Why: a word that stays the same for the same cause.
             */
            reason: components["schemas"]["AttemptReason"] | null;
            /**
             * Records
             * @description What the audit log has of it, oldest first.
             */
            records: components["schemas"]["RecordView"][];
            /**
             * Slice
             * @description The number of the slice, counted from 0.
             */
            slice: number;
            /** @description In which state it is. */
            state: components["schemas"]["AttemptState"];
            /** @description Whose doing the end was; null before. */
            verdict: components["schemas"]["Verdict"] | null;
            /**
             * Words
             * @description The same in words, for people.
             */
            words: string[];
        };
        /** AttemptFacts */
        AttemptFacts: {
            /**
             * Attempt Id
             * @description The id of the attempt.
             */
            attempt_id: string;
            /**
             * Billed Seconds
             * @description For how many seconds is paid.
             */
            billed_seconds: number;
            /**
             * Cost Micros
             * @description What its renter pays, without what came back.
             */
            cost_micros: number;
            /**
             * Exit Code
             * @description What the command returned; null where it did not come to that.
             */
            exit_code: number | null;
            /**
             * Finished At
             * @description When it ended; null before.
             */
            finished_at: string | null;
            /**
             * Host Id
             * @description The owner of the node.
             */
            host_id: string | null;
            /**
             * Host Micros
             * @description What its host would give back of that; the rest is the fee.
             */
            host_micros: number;
            /**
             * Job Id
             * @description Of a replica: the hidden job that it belongs to.
             */
            job_id: string;
            /**
             * Log
             * @description Where it is read.
             */
            log: string;
            /**
             * Node Id
             * @description The id of the node.
             */
            node_id: string;
            /**
             * Node Name
             * @description The name of the node.
             */
            node_name: string;
            /**
             * Number
             * @description The number of the attempt, counted from 1.
             */
            number: number;
            /**
             * Reason
             * @description Why: a word that stays the same for the same cause.
             */
            reason: components["schemas"]["AttemptReason"] | null;
            /** @description What its node signed. */
            receipt: components["schemas"]["Receipt"] | null;
            /**
             * Slice
             * @description The number of the slice, counted from 0.
             */
            slice: number;
            /**
             * Started At
             * @description When it began to run; null before.
             */
            started_at: string | null;
            /** @description Whose doing the end was; null before. */
            verdict: components["schemas"]["Verdict"] | null;
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
        /** AttemptUsageView */
        AttemptUsageView: {
            /**
             * Attempt
             * @description The number of the attempt, from 1; null while the slice has none.
             */
            attempt: number | null;
            /**
             * Attempt Id
             * @description The id of the attempt; null while the slice has none.
             */
            attempt_id: string | null;
            /**
             * Columns
             * @description The metrics that have at least one sample in this time.
             */
            columns: components["schemas"]["SeriesColumn"][];
            /**
             * Job Id
             * @description The job.
             */
            job_id: string;
            /**
             * Points
             * @description How many numbers each column has.
             */
            points: number;
            /**
             * Slice
             * @description The slice, counted from 0.
             */
            slice: number;
            /**
             * Start At
             * Format: date-time
             * @description When the first point begins.
             */
            start_at: string;
            /**
             * Step Seconds
             * @description How long each point is: what was asked for, or more.
             */
            step_seconds: number;
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
            /**
             * Detail
             * @description More about it, for people.
             */
            detail: string | null;
            /**
             * Exit Code
             * @description What the command returned; null where it did not come to that.
             */
            exit_code: number | null;
            /**
             * Fence
             * @description The number that proves that this attempt is the current one of its slice.
             */
            fence: number;
            /**
             * Finished At
             * @description When it ended; null before.
             */
            finished_at: string | null;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /** @description How strongly the work was kept apart from its machine. */
            isolation: components["schemas"]["IsolationLevel"] | null;
            /**
             * Leased At
             * Format: date-time
             * @description When the node was given the work.
             */
            leased_at: string;
            /**
             * Log Bytes
             * @description The size of the log, known when the attempt has ended.
             */
            log_bytes: number;
            /**
             * Node Id
             * @description The id of the node.
             */
            node_id: string;
            /**
             * Node Name
             * @description The name of the node.
             */
            node_name: string;
            /**
             * Number
             * @description The number of the attempt, counted from 1.
             */
            number: number;
            /**
             * Own
             * @description The node belongs to the job's owner: nothing is paid.
             */
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
            /**
             * Reason
             * @description Why: a word that stays the same for the same cause.
             */
            reason: components["schemas"]["AttemptReason"] | null;
            /**
             * Resumed From
             * @description The checkpoint of its slice that it started with.
             */
            resumed_from: number | null;
            /**
             * Started At
             * @description When it began to run; null before.
             */
            started_at: string | null;
            /** @description In which state it is. */
            state: components["schemas"]["AttemptState"];
            /** @description Whose doing the end was; null before. */
            verdict: components["schemas"]["Verdict"] | null;
        };
        /** AuditActions */
        AuditActions: {
            /**
             * Items
             * @description The actions that every job records, and all others that there are records of, in the order of the alphabet.
             */
            items: string[];
        };
        /**
         * AuditDetail
         * @description Something else that was recorded.
         */
        AuditDetail: {
            /**
             * Name
             * @description Its name, which depends on the action.
             */
            name: string;
            /**
             * Value
             * @description Its value: a text as it is, anything else as JSON.
             */
            value: string;
        };
        /**
         * AuditLine
         * @description Somebody did something.
         */
        AuditLine: {
            /**
             * Action
             * @description What, such as `cash_out.approved`.
             */
            action: string;
            /**
             * Actor
             * @description Who: the id of a user or a node, or `hub`.
             */
            actor: string;
            /**
             * Actor Name
             * @description The user's e-mail address, or the node's name.
             */
            actor_name: string | null;
            /**
             * At
             * Format: date-time
             * @description When.
             */
            at: string;
            /**
             * Details
             * @description What else was recorded.
             */
            details: components["schemas"]["AuditDetail"][];
            /**
             * Id
             * @description Grows with every record of the pool.
             */
            id: number;
            /**
             * Subject
             * @description To what: the id of an object.
             */
            subject: string;
            /**
             * Subject Name
             * @description What people call it, where it is a user, a node or a job.
             */
            subject_name: string | null;
        };
        /** AuditLines */
        AuditLines: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["AuditLine"][];
            /**
             * Next
             * @description The cursor of the following page; null on the last. With `q`, a node as `actor` or an action of every job, a page
             *     looks through 50,000 records: it may be short, or empty, and have one.
             */
            next: string | null;
        };
        /** AuditPage */
        AuditPage: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["AuditView"][];
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
            /**
             * Total
             * @description How many match in all; null for more than 10,000.
             */
            total: number | null;
        };
        /**
         * AuditView
         * @description For operators.
         */
        AuditView: {
            /**
             * Answers
             * @description How many results were compared.
             */
            answers: number;
            /**
             * Asked
             * @description How many others were asked to compute it.
             */
            asked: number;
            /**
             * Attempt Id
             * @description The id of the attempt.
             */
            attempt_id: string | null;
            /**
             * Created At
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Decided At
             * @description When it was decided; null before.
             */
            decided_at: string | null;
            /**
             * Detail
             * @description More about it, for people.
             */
            detail: string | null;
            /**
             * Given Back Micros
             * @description What the node's owner gave back.
             */
            given_back_micros: number | null;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Job Id
             * @description The id of the job.
             */
            job_id: string;
            /**
             * Kind
             * @description Whether replicas were compared, a result was drawn for an audit, or a node got a canary.
             * @enum {string}
             */
            kind: "replicas" | "audit" | "canary" | "known";
            /**
             * Node Id
             * @description The id of the node.
             */
            node_id: string | null;
            /**
             * Node Name
             * @description The name of the node.
             */
            node_name: string | null;
            /**
             * Owner Email
             * @description Of the node's owner; a team has none.
             */
            owner_email: string | null;
            /**
             * Owner Id
             * @description The user or team that it belongs to.
             */
            owner_id: string | null;
            /**
             * Slice
             * @description The number of the slice, counted from 0.
             */
            slice: number;
            /**
             * State
             * @description `open` until it is decided. `nondeterm`: nobody can say, as honest runs differ.
             * @enum {string}
             */
            state: "open" | "valid" | "accused" | "guilty" | "dismissed" | "nondeterm" | "abandoned";
        };
        /**
         * Audited
         * @description Results of it that were computed again by others: counted apart, never mixed into reliability.
         */
        Audited: {
            /**
             * Ok
             * @description How many were right.
             */
            ok: number;
            /**
             * Wrong
             * @description How many were wrong.
             */
            wrong: number;
        };
        /**
         * Availability
         * @description What the owner's policy leaves to strangers right now. The owner's own jobs are not held back by it.
         */
        Availability: {
            /**
             * Gpu Only
             * @description Only what uses one of the other GPUs: the rest of the machine is the owner's.
             * @default false
             */
            gpu_only: boolean;
            /**
             * Gpus In Use
             * @description The ids of GPUs that the owner uses, or keeps.
             * @default []
             */
            gpus_in_use: string[];
            /**
             * Reason
             * @description Why not, for people: `the keyboard was used 3 minutes ago`.
             * @default
             */
            reason: string;
            /**
             * Strangers
             * @description Whether others than the owner get work there.
             * @default true
             */
            strangers: boolean;
        };
        /**
         * BalanceView
         * @description One of the balances of a wallet, for people.
         */
        BalanceView: {
            /**
             * Credits
             * @description The same in credits.
             */
            credits: string;
            /**
             * Meaning
             * @description A sentence on what these credits are.
             */
            meaning: string;
            /**
             * Micros
             * @description How much, in micro-credits.
             */
            micros: number;
            /**
             * Name
             * @description Its name.
             * @enum {string}
             */
            name: "spendable" | "available" | "promotional" | "earnings" | "cashable" | "held" | "cashing_out" | "debt" | "owed";
            /**
             * Title
             * @description A word or two.
             */
            title: string;
        };
        /**
         * BeginVerdict
         * @description Whether a slice could begin now, and what it lacks.
         */
        BeginVerdict: {
            /**
             * Allowed
             * @description It could begin at once.
             */
            allowed: boolean;
            /**
             * Available Micros
             * @description What the renter can spend now.
             */
            available_micros: number | null;
            /**
             * Code
             * @description ok. no_node: none can ever run it. busy: none is free. limit: the renter's limits. credits: the wallet. budget:
             *     the job would fail at once. kept: what is free is kept for others.
             * @enum {string}
             */
            code: "ok" | "no_node" | "busy" | "limit" | "credits" | "budget" | "kept";
            /**
             * Missing Micros
             * @description How much of what is needed is not there.
             */
            missing_micros: number | null;
            /**
             * Needed Micros
             * @description What has to be set aside for a slice to begin at the price of now; null if no node would do.
             */
            needed_micros: number | null;
            /**
             * Reason
             * @description Why not, and what to do, in words; null where it is allowed.
             */
            reason: string | null;
        };
        /**
         * BenchmarkView
         * @description What the hub measured of a node, and what it makes of it.
         */
        BenchmarkView: {
            /**
             * Devices
             * @description The figures of each. What is `reported` in them is what the agent says; the rest is the hub's.
             */
            devices: components["schemas"]["DeviceFigures"][];
            /** @description The node's connection, as it was measured. */
            line: components["schemas"]["LineFigures"];
            /**
             * Mark
             * @description Whether the node is as fast as its cards are.
             * @enum {string}
             */
            mark: "unverified" | "matches" | "too_slow" | "too_fast" | "failed";
            /**
             * Measured At
             * @description When it was measured; null before.
             */
            measured_at: string | null;
            /**
             * Tier
             * @description The multiplier of its price.
             */
            tier: number | null;
            /**
             * Tier Basis
             * @description Whether the tier is the card's, was measured, or is only claimed.
             */
            tier_basis: ("card" | "measured" | "claimed") | null;
            /**
             * Words
             * @description The same in words, for people.
             */
            words: string;
        };
        /**
         * Canary
         * @description What to run again, and where.
         */
        Canary: {
            /**
             * Job Id
             * @description The id of the job.
             */
            job_id: string;
            /**
             * Node Id
             * @description The id of the node.
             */
            node_id: string;
            /**
             * Slice
             * @description The number of the slice, counted from 0.
             * @default 0
             */
            slice?: number;
        };
        /** CanaryStarted */
        CanaryStarted: {
            /**
             * Job Id
             * @description Of the hidden job: `admin audits` tells what came of it.
             */
            job_id: string;
        };
        /**
         * Capacity
         * @description What the node offers to the pool, as its agent measured it. Bounded: the hub calculates with what hosts say.
         */
        Capacity: {
            /**
             * Cpu Model
             * @description The name of the processor.
             * @default
             */
            cpu_model: string;
            /**
             * Cpus
             * @description Cores.
             */
            cpus: number;
            /**
             * Disk Bytes
             * @description Disk, in bytes.
             */
            disk_bytes: number;
            /**
             * Gpus
             * @description The cards.
             * @default []
             */
            gpus: components["schemas"]["Gpu"][];
            /**
             * Isolation
             * @description The levels that its self-test proved.
             * @default [
             *       "process"
             *     ]
             */
            isolation: components["schemas"]["IsolationLevel"][];
            /**
             * Links
             * @description Whether its agent makes the `links` of a manifest. An older one ignores them.
             * @default false
             */
            links: boolean;
            /**
             * Memory Bytes
             * @description Memory, in bytes.
             */
            memory_bytes: number;
            /**
             * Networked
             * @description The levels at which `setup` reaches package indexes, and a job with `network: true` the internet.
             * @default []
             */
            networked: components["schemas"]["IsolationLevel"][];
            /**
             * Owner Keys
             * @description The ids of the keys whose signature makes a job the owner's own here; None where the hub is believed.
             */
            owner_keys: string[] | null;
            /**
             * Platform
             * @description The operating system and architecture.
             * @default
             */
            platform: string;
            /**
             * @description What the owner allows.
             * @default {
             *       "gpu_only": false,
             *       "internet": true,
             *       "renters": [],
             *       "strangers": true,
             *       "turned_away": []
             *     }
             */
            rules: components["schemas"]["HouseRules"];
            /**
             * Simulated
             * @description It only pretends to compute: no real hardware.
             * @default false
             */
            simulated: boolean;
            /**
             * Soft Limits
             * @description Memory is kept by a watchdog, not by the kernel.
             * @default false
             */
            soft_limits: boolean;
            /**
             * Software
             * @description What is installed.
             * @default []
             */
            software: components["schemas"]["Software"][];
        };
        /**
         * CapacityInput
         * @description What the node offers to the pool, as its agent measured it. Bounded: the hub calculates with what hosts say.
         */
        CapacityInput: {
            /**
             * Cpu Model
             * @description The name of the processor.
             * @default
             */
            cpu_model?: string;
            /**
             * Cpus
             * @description Cores.
             */
            cpus: number;
            /**
             * Disk Bytes
             * @description Disk, in bytes.
             */
            disk_bytes: number;
            /**
             * Gpus
             * @description The cards.
             * @default []
             */
            gpus?: components["schemas"]["GpuInput"][];
            /**
             * Isolation
             * @description The levels that its self-test proved.
             * @default [
             *       "process"
             *     ]
             */
            isolation?: components["schemas"]["IsolationLevel"][];
            /**
             * Links
             * @description Whether its agent makes the `links` of a manifest. An older one ignores them.
             * @default false
             */
            links?: boolean;
            /**
             * Memory Bytes
             * @description Memory, in bytes.
             */
            memory_bytes: number;
            /**
             * Networked
             * @description The levels at which `setup` reaches package indexes, and a job with `network: true` the internet.
             * @default []
             */
            networked?: components["schemas"]["IsolationLevel"][];
            /**
             * Owner Keys
             * @description The ids of the keys whose signature makes a job the owner's own here; None where the hub is believed.
             */
            owner_keys?: string[] | null;
            /**
             * Platform
             * @description The operating system and architecture.
             * @default
             */
            platform?: string;
            /**
             * @description What the owner allows.
             * @default {
             *       "gpu_only": false,
             *       "internet": true,
             *       "renters": [],
             *       "strangers": true,
             *       "turned_away": []
             *     }
             */
            rules?: components["schemas"]["HouseRulesInput"];
            /**
             * Simulated
             * @description It only pretends to compute: no real hardware.
             * @default false
             */
            simulated?: boolean;
            /**
             * Soft Limits
             * @description Memory is kept by a watchdog, not by the kernel.
             * @default false
             */
            soft_limits?: boolean;
            /**
             * Software
             * @description What is installed.
             * @default []
             */
            software?: components["schemas"]["Software"][];
        };
        /** CardView */
        CardView: {
            /**
             * Message
             * @description What to do next, for people.
             */
            message: string;
            /**
             * State
             * @description In which state it is.
             * @enum {string}
             */
            state: "pending" | "open" | "failed";
            /**
             * Url
             * @description Where a person goes on; null where there is nothing to do.
             */
            url: string | null;
        };
        /** CashOutActions */
        CashOutActions: {
            /** @description Take it back, before an operator has decided: `POST wallet/cash-outs/{id}/cancel`. */
            cancel: components["schemas"]["ActionView"];
        };
        /** CashOutDecision */
        CashOutDecision: {
            /**
             * Note
             * @description For the host.
             * @default
             */
            note?: string;
        };
        /** CashOutList */
        CashOutList: {
            /** @description What can be cashed out. */
            can: components["schemas"]["CashableView"];
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["CashOutView"][];
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
            /**
             * Total
             * @description How many match in all; null for more than 10,000.
             */
            total: number | null;
        };
        /** CashOutRequest */
        CashOutRequest: {
            /**
             * Credits
             * @description How much, in credits.
             */
            credits: string | number;
            /**
             * Owner Id
             * @description Whose wallet, if not one's own: a team of one's own.
             */
            owner_id?: string | null;
        };
        /**
         * CashOutState
         * @enum {string}
         */
        CashOutState: "requested" | "approved" | "paid" | "rejected" | "failed" | "canceled";
        /** CashOutView */
        CashOutView: {
            /** @description What its owner may do. */
            actions: components["schemas"]["CashOutActions"];
            /**
             * Amount
             * @description In the pool's currency.
             */
            amount: string;
            /**
             * Approved At
             * @description When it was approved.
             */
            approved_at: string | null;
            /**
             * Created At
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Credits
             * @description How much, in credits.
             */
            credits: string;
            /**
             * Ended At
             * @description When it came to its end; null before.
             */
            ended_at: string | null;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Message
             * @description The state in words, for people.
             */
            message: string;
            /**
             * Micros
             * @description How much, in micro-credits.
             */
            micros: number;
            /**
             * Note
             * @description What the person who did it wrote.
             */
            note: string;
            /**
             * Owner Id
             * @description The user or team that it belongs to.
             */
            owner_id: string;
            /**
             * Reference
             * @description What identifies the payment on a bank statement.
             */
            reference: string | null;
            /**
             * Returned Micros
             * @description What was taken back after it was paid.
             */
            returned_micros: number;
            /** @description In which state it is. */
            state: components["schemas"]["CashOutState"];
        };
        /** CashableActions */
        CashableActions: {
            /** @description Ask for all that is cashable: `POST wallet/cash-outs`. */
            request: components["schemas"]["ActionView"];
        };
        /**
         * CashableView
         * @description What can be cashed out, and when the rest can.
         */
        CashableView: {
            /** @description What its owner may do. */
            actions: components["schemas"]["CashableActions"];
            /**
             * Cashable Micros
             * @description Now.
             */
            cashable_micros: number;
            /**
             * Frozen
             * @description The ledger does not add up: nobody is paid out until it does.
             */
            frozen: boolean;
            /**
             * Hold Back Days
             * @description For how many days new earnings are held back.
             */
            hold_back_days: number;
            /**
             * Later
             * @description If nothing happens until then.
             */
            later: components["schemas"]["LaterView"][];
            /**
             * Minimum Micros
             * @description The least that is paid out at once.
             */
            minimum_micros: number;
            /**
             * Owner Id
             * @description The user or team that it belongs to.
             */
            owner_id: string;
            /**
             * Unknown Micros
             * @description Earned with jobs that still run, or that somebody disputes.
             */
            unknown_micros: number;
            /**
             * Way
             * @description manual: an operator pays by hand. Else the processor that does.
             */
            way: string;
        };
        /** CatalogCountry */
        CatalogCountry: {
            /**
             * Code
             * @description As two letters of ISO 3166, for `where.country`.
             */
            code: string;
            /**
             * Name
             * @description In English.
             */
            name: string;
            /**
             * Nodes Online
             * @description Real nodes there that take work now.
             */
            nodes_online: number;
            /**
             * Region
             * @description Whose prices it has.
             */
            region: string;
        };
        /**
         * CatalogGpu
         * @description A card that can be asked for by name.
         */
        CatalogGpu: {
            /**
             * From Micros
             * @description The lowest price of an hour of one card now; null if no node has one.
             */
            from_micros: number | null;
            /**
             * Gpus Free
             * @description Cards of real nodes that are not in use.
             */
            gpus_free: number;
            /**
             * Memory Bytes
             * @description The sizes in which it is sold, or that nodes have, the smallest first.
             */
            memory_bytes: number[];
            /**
             * Name
             * @description As `resources.gpu` takes it.
             */
            name: string;
            /**
             * Nodes Online
             * @description Real nodes that take work now and have one.
             */
            nodes_online: number;
            /**
             * Nodes Simulated
             * @description Simulated nodes that have one.
             */
            nodes_simulated: number;
            /**
             * Tier
             * @description How much more than the base rate it is worth; by its name, where nothing was measured.
             */
            tier: number;
        };
        /** CatalogImage */
        CatalogImage: {
            /**
             * Name
             * @description As `image` takes it.
             */
            name: string;
            /**
             * Nodes Cached
             * @description Nodes online that have it at hand.
             */
            nodes_cached: number;
            /**
             * Title
             * @description What it is.
             */
            title: string;
        };
        /**
         * CatalogLimits
         * @description What a spec may ask for.
         */
        CatalogLimits: {
            /**
             * Default Runtime Seconds
             * @description The runtime where the spec says nothing.
             */
            default_runtime_seconds: number;
            /**
             * Env Entries
             * @description The most variables.
             */
            env_entries: number;
            /**
             * Gpus
             * @description The most cards of one slice.
             */
            gpus: number;
            /**
             * Inputs
             * @description The most inputs.
             */
            inputs: number;
            /**
             * List Items
             * @description The most outputs, tags or addressees.
             */
            list_items: number;
            /**
             * Max Runtime Seconds
             * @description The longest runtime of one attempt.
             */
            max_runtime_seconds: number;
            /**
             * Name Characters
             * @description The longest name.
             */
            name_characters: number;
            /**
             * Priority Max
             * @description The highest priority.
             */
            priority_max: number;
            /**
             * Priority Min
             * @description The lowest priority.
             */
            priority_min: number;
            /**
             * Replicas Max
             * @description The most replicas of `verify`.
             */
            replicas_max: number;
            /**
             * Replicas Min
             * @description The fewest replicas of `verify`.
             */
            replicas_min: number;
            /**
             * Retries
             * @description The most retries.
             */
            retries: number;
            /**
             * Size Min Bytes
             * @description The least memory, and the least disk.
             */
            size_min_bytes: number;
            /**
             * Slices
             * @description The most parallel slices.
             */
            slices: number;
            /**
             * Spec Bytes
             * @description The largest spec.
             */
            spec_bytes: number;
        };
        /** CatalogRegion */
        CatalogRegion: {
            /**
             * Countries
             * @description As two letters of ISO 3166; empty for `elsewhere`.
             */
            countries: string[];
            /**
             * Factor
             * @description By which prices differ there.
             */
            factor: number | null;
            /**
             * Name
             * @description Of the region; `elsewhere` for all countries that are in none.
             */
            name: string;
        };
        /**
         * CatalogTemplate
         * @description A small spec to begin with.
         */
        CatalogTemplate: {
            /**
             * Description
             * @description What it shows.
             */
            description: string;
            /**
             * Name
             * @description Stays the same.
             */
            name: string;
            /**
             * Title
             * @description In a few words.
             */
            title: string;
            /**
             * Yaml
             * @description The spec.
             */
            yaml: string;
        };
        /** CatalogView */
        CatalogView: {
            /**
             * Attempt States
             * @description States of attempts.
             */
            attempt_states: components["schemas"]["CatalogWord"][];
            /**
             * Countries
             * @description By name.
             */
            countries: components["schemas"]["CatalogCountry"][];
            /**
             * Entry Kinds
             * @description Kinds of the ledger's entries; null without money.
             */
            entry_kinds: components["schemas"]["CatalogWord"][] | null;
            /**
             * Gpus
             * @description Those that are online first, then by what they are worth.
             */
            gpus: components["schemas"]["CatalogGpu"][];
            /**
             * Images
             * @description Well-known images, those that most nodes have first.
             */
            images: components["schemas"]["CatalogImage"][];
            /**
             * Isolation
             * @description Levels of isolation, from the weakest to the strongest.
             */
            isolation: components["schemas"]["CatalogWord"][];
            /**
             * Job States
             * @description States of jobs and slices.
             */
            job_states: components["schemas"]["CatalogWord"][];
            /** @description What a spec may ask for. */
            limits: components["schemas"]["CatalogLimits"];
            /**
             * Node States
             * @description States of nodes.
             */
            node_states: components["schemas"]["CatalogWord"][];
            /**
             * Optimize
             * @description Values of `optimize`.
             */
            optimize: components["schemas"]["CatalogWord"][];
            /**
             * Reasons
             * @description Why an attempt ended.
             */
            reasons: components["schemas"]["CatalogWord"][];
            /**
             * Regions
             * @description As the pool's prices have them.
             */
            regions: components["schemas"]["CatalogRegion"][];
            /**
             * Templates
             * @description Specs to begin with.
             */
            templates: components["schemas"]["CatalogTemplate"][];
            /**
             * Trust
             * @description Values of `where.trust`.
             */
            trust: components["schemas"]["CatalogWord"][];
            /**
             * Verdicts
             * @description Whose doing the end of an attempt was.
             */
            verdicts: components["schemas"]["CatalogWord"][];
        };
        /**
         * CatalogWord
         * @description One value of a closed set.
         */
        CatalogWord: {
            /**
             * Rank
             * @description Its place in the order: of isolation levels, from the weakest.
             */
            rank: number;
            /**
             * Text
             * @description What it means, in a sentence.
             */
            text: string;
            /**
             * Value
             * @description As the API and specs write it.
             */
            value: string;
        };
        /**
         * CheckView
         * @description What became of one result that others computed too.
         */
        CheckView: {
            /**
             * Answers
             * @description How many results were compared.
             */
            answers: number;
            /**
             * Created At
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Decided At
             * @description When it was decided; null before.
             */
            decided_at: string | null;
            /**
             * Detail
             * @description More about it, for people.
             */
            detail: string | null;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Kind
             * @description Whether replicas were compared, a result was drawn for an audit, or a node got a canary.
             * @enum {string}
             */
            kind: "replicas" | "audit" | "canary" | "known";
            /**
             * Slice
             * @description The number of the slice, counted from 0.
             */
            slice: number;
            /**
             * State
             * @description `open` until it is decided. `nondeterm`: nobody can say, as honest runs differ.
             * @enum {string}
             */
            state: "open" | "valid" | "accused" | "guilty" | "dismissed" | "nondeterm" | "abandoned";
        };
        /**
         * CheckedView
         * @description A result that others computed too.
         */
        CheckedView: {
            /**
             * Decided At
             * @description When it was decided; null before.
             */
            decided_at: string | null;
            /**
             * Detail
             * @description More about it, for people.
             */
            detail: string | null;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Slice
             * @description The number of the slice, counted from 0.
             */
            slice: number;
            /**
             * State
             * @description In which state it is.
             * @enum {string}
             */
            state: "open" | "valid" | "accused" | "guilty" | "dismissed" | "nondeterm" | "abandoned";
        };
        /**
         * CloneView
         * @description Everything to submit a job again, changed or not: `POST jobs?bundle=ID` with the spec.
         */
        CloneView: {
            /** @description The archive that is unpacked where the command runs: send its id as `bundle`. */
            bundle: components["schemas"]["GivenFile"] | null;
            /**
             * Inputs
             * @description By path, the stored files among its inputs. The spec names them.
             */
            inputs: {
                [key: string]: components["schemas"]["GivenFile"];
            };
            /**
             * Job Id
             * @description The id of the job.
             */
            job_id: string;
            /** @description What was asked for, in its canonical form. */
            spec: components["schemas"]["WireSpec"];
            /**
             * Yaml
             * @description The same as YAML, to be changed by hand.
             */
            yaml: string;
        };
        /** ConfigFeatures */
        ConfigFeatures: {
            /**
             * Direct Storage
             * @description Artifacts are uploaded to, and downloaded from, a bucket at another origin than the hub's.
             */
            direct_storage: boolean;
            /**
             * Top Ups
             * @description Credits can be bought: the hub has a payment processor.
             */
            top_ups: boolean;
        };
        /** ConfigLimits */
        ConfigLimits: {
            /**
             * Idempotency Key Characters
             * @description The longest `Idempotency-Key`.
             */
            idempotency_key_characters: number;
            /**
             * Log Piece Bytes
             * @description The most that one answer of `jobs/{job_id}/logs` has.
             */
            log_piece_bytes: number;
            /**
             * Name Characters
             * @description The longest name.
             */
            name_characters: number;
            /**
             * Page Items
             * @description The most jobs in one page.
             */
            page_items: number;
            /**
             * Password Max Characters
             * @description The longest password.
             */
            password_max_characters: number;
            /**
             * Password Min Characters
             * @description The shortest password.
             */
            password_min_characters: number;
            /**
             * Shown Slices
             * @description The most slices in one answer about a job.
             */
            shown_slices: number;
            /**
             * Slices
             * @description How many slices.
             */
            slices: number;
            /**
             * Spec Bytes
             * @description The largest spec.
             */
            spec_bytes: number;
            /**
             * Token Days
             * @description For which a personal token lives where nobody says otherwise.
             */
            token_days: number;
            /**
             * Token Days Max
             * @description The longest life of a personal token, in days.
             */
            token_days_max: number;
            /**
             * Token Name Characters
             * @description The longest name of a token.
             */
            token_name_characters: number;
        };
        /** ConfigView */
        ConfigView: {
            /**
             * Credit Value
             * @description What one credit is worth in that currency, as a decimal number; null without money.
             */
            credit_value: string | null;
            /**
             * Currency
             * @description The currency of credits, as three small letters; null without money.
             */
            currency: string | null;
            /** @description What this hub can do. */
            features: components["schemas"]["ConfigFeatures"];
            /** @description The limits of requests. */
            limits: components["schemas"]["ConfigLimits"];
            /**
             * Mail
             * @description Whether the hub sends mails.
             */
            mail: boolean;
            /**
             * Money
             * @description Whether work on other people's nodes is paid for here.
             */
            money: boolean;
            /**
             * Public Url
             * @description The address of the hub, as people write it; null where none is set.
             */
            public_url: string | null;
            /** @description How people sign in here. */
            sign_in: components["schemas"]["SignInOptions"];
            /** @description The limits of uploads. */
            uploads: components["schemas"]["UploadLimits"];
            /**
             * Websocket Subprotocol
             * @description Offered by browsers beside `bearer.TOKEN` when they open a WebSocket.
             */
            websocket_subprotocol: string;
        };
        /** Contest */
        Contest: {
            /**
             * Reason
             * @description Why: a word that stays the same for the same cause.
             */
            reason: string;
        };
        /** ContestActions */
        ContestActions: {
            /** @description Uphold or dismiss it: `POST /admin/contests/{event_id}/resolve`. */
            resolve: components["schemas"]["ActionView"];
        };
        /** ContestDecision */
        ContestDecision: {
            /**
             * Note
             * @description What the person who did it wrote.
             * @default
             */
            note?: string;
            /** @description What became of the contest. */
            resolution: components["schemas"]["Resolution"];
        };
        /**
         * ContestEvidence
         * @description The attempt that a contest is about.
         */
        ContestEvidence: {
            /**
             * Detail
             * @description What the agent said of its end.
             */
            detail: string | null;
            /**
             * Exit Code
             * @description What the command returned; null where it did not come to that.
             */
            exit_code: number | null;
            /**
             * Finished At
             * @description When it ended; null before.
             */
            finished_at: string | null;
            /** @description How strongly the work was kept apart from its machine. */
            isolation: components["schemas"]["IsolationLevel"] | null;
            /**
             * Job Id
             * @description The id of the job.
             */
            job_id: string;
            /**
             * Leased At
             * Format: date-time
             * @description When the node got it.
             */
            leased_at: string;
            /**
             * Log
             * @description Where its log is read.
             */
            log: string;
            /**
             * Log Bytes
             * @description How much it printed, as far as that is stored.
             */
            log_bytes: number;
            /**
             * Number
             * @description Of the attempt, among those of its slice.
             */
            number: number;
            /**
             * Slice
             * @description The number of the slice, counted from 0.
             */
            slice: number;
            /**
             * Started At
             * @description When it began to run; null before.
             */
            started_at: string | null;
            /** @description In which state it is. */
            state: components["schemas"]["AttemptState"];
        };
        /** ContestPage */
        ContestPage: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["ContestView"][];
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
            /**
             * Total
             * @description How many match in all; null for more than 10,000.
             */
            total: number | null;
        };
        /** ContestView */
        ContestView: {
            /** @description What the reader may do about it. */
            actions: components["schemas"]["EventActions"];
            /** @description What an admin may do about it. */
            admin_actions: components["schemas"]["ContestActions"];
            /**
             * At
             * Format: date-time
             * @description When it happened.
             */
            at: string;
            /**
             * Attempt Id
             * @description The id of the attempt.
             */
            attempt_id: string;
            /**
             * Contest Reason
             * @description What the node's owner says against it.
             */
            contest_reason: string | null;
            /**
             * Contested At
             * @description When the node's owner contested it.
             */
            contested_at: string | null;
            /** @description What happened; null where the attempt is not on record any more. */
            evidence: components["schemas"]["ContestEvidence"] | null;
            /**
             * Id
             * @description Its id.
             */
            id: number;
            /**
             * Node Id
             * @description The id of the node.
             */
            node_id: string;
            /**
             * Node Name
             * @description The name of the node.
             */
            node_name: string;
            /**
             * Owner Email
             * @description null for an owner that is not a user.
             */
            owner_email: string | null;
            /**
             * Owner Id
             * @description The user or team that it belongs to.
             */
            owner_id: string;
            /** @description Why: a word that stays the same for the same cause. */
            reason: components["schemas"]["AttemptReason"];
            /**
             * Resolution
             * @description What became of it. `taken_back` and `upheld` undo it.
             */
            resolution: ("taken_back" | "upheld" | "dismissed") | null;
            /**
             * Resolution Note
             * @description What the operator wrote about the decision.
             */
            resolution_note: string | null;
            /**
             * Resolved At
             * @description When it was decided; null before.
             */
            resolved_at: string | null;
            /** @description Whose doing the end was; null before. */
            verdict: components["schemas"]["Verdict"];
            /**
             * Weight
             * @description How much it counts.
             */
            weight: number;
        };
        /**
         * CostLine
         * @description One amount of a quote, with what it is for.
         */
        CostLine: {
            /**
             * Code
             * @description What the amount is, as a word that stays the same.
             * @enum {string}
             */
            code: "slice_hour" | "all_now" | "setup" | "fee" | "set_aside" | "ceiling" | "at_most" | "storage";
            /**
             * Label
             * @description The same in words.
             */
            label: string;
            /**
             * Micros
             * @description The amount, in micros.
             */
            micros: number;
        };
        /** DayEarned */
        DayEarned: {
            /**
             * Attempts
             * @description For which something came or went.
             */
            attempts: number;
            /**
             * Cashable Micros
             * @description Of that, as earnings; what filled up a debt is in neither of these two.
             */
            cashable_micros: number;
            /**
             * Day
             * Format: date
             * @description Of UTC.
             */
            day: string;
            /**
             * Earned Micros
             * @description All together, what was given back taken off.
             */
            earned_micros: number;
            /**
             * Node Id
             * @description The id of the node.
             */
            node_id: string;
            /**
             * Node Name
             * @description The name of the node.
             */
            node_name: string;
            /**
             * Promotional Micros
             * @description Of that, to be spent and never cashed out.
             */
            promotional_micros: number;
        };
        /**
         * DayPrice
         * @description Of one day, in millionths of a credit for an hour.
         */
        DayPrice: {
            /**
             * Average Micros
             * @description The mean of what is stored.
             */
            average_micros: number;
            /**
             * Day
             * Format: date
             * @description Of UTC.
             */
            day: string;
            /**
             * Maximum Micros
             * @description The most.
             */
            maximum_micros: number;
            /**
             * Minimum Micros
             * @description The least.
             */
            minimum_micros: number;
        };
        /** DayReport */
        DayReport: {
            /**
             * Day
             * Format: date
             * @description Of UTC.
             */
            day: string;
            /**
             * Fees Micros
             * @description Of that, the platform's, without what was given back.
             */
            fees_micros: number;
            /**
             * Jobs
             * @description Submitted, without those that the platform runs to check others.
             */
            jobs: number;
            /**
             * Paid In Micros
             * @description Money that came: top-ups, and what was granted for money.
             */
            paid_in_micros: number;
            /**
             * Paid Out Micros
             * @description Money that went to hosts: cash-outs, without what was taken back of them.
             */
            paid_out_micros: number;
            /**
             * Refunded Micros
             * @description To renters: after disputes, checks, and attempts that came to nothing.
             */
            refunded_micros: number;
            /**
             * Returned Micros
             * @description Money that went back to cards: refunds and chargebacks, without those that failed or were won.
             * @default 0
             */
            returned_micros: number;
            /**
             * Spent Micros
             * @description By renters.
             */
            spent_micros: number;
            /**
             * Storage Micros
             * @description What owners paid for storage. It is not among the fees.
             * @default 0
             */
            storage_micros: number;
            /**
             * Withdrawn Micros
             * @description Money that renters got back elsewhere: what was withdrawn by hand.
             * @default 0
             */
            withdrawn_micros: number;
            /**
             * Written Off Micros
             * @description Debts that the pool bore, without what came back of that.
             * @default 0
             */
            written_off_micros: number;
        };
        /** DayTotal */
        DayTotal: {
            /**
             * Attempts
             * @description For which something came or went.
             */
            attempts: number;
            /**
             * Day
             * Format: date
             * @description Of UTC.
             */
            day: string;
            /**
             * Earned Micros
             * @description All nodes together, what was given back taken off.
             */
            earned_micros: number;
        };
        /** DayUptime */
        DayUptime: {
            /**
             * Day
             * Format: date
             * @description Of UTC.
             */
            day: string;
            /**
             * Share
             * @description The part of the day that the node was there, from 0 to 1.
             */
            share: number;
        };
        /**
         * Decided
         * @description Why an admin decides so. The host reads it.
         */
        Decided: {
            /**
             * Note
             * @description What the person who did it wrote.
             */
            note?: string | null;
        };
        /** DeviceApproveRequest */
        DeviceApproveRequest: {
            /**
             * Approve
             * @description False: deny it, so that the program stops waiting.
             * @default true
             */
            approve?: boolean;
            /**
             * User Code
             * @description What the person types, or confirms.
             */
            user_code: string;
        };
        /** DeviceCodeView */
        DeviceCodeView: {
            /**
             * Device Code
             * @description What the program asks with until the person has decided.
             */
            device_code: string;
            /**
             * Expires In
             * @description For how many seconds the code is good.
             */
            expires_in: number;
            /**
             * Interval
             * @description How many seconds to wait between two questions.
             */
            interval: number;
            /**
             * User Code
             * @description What the person types, or confirms.
             */
            user_code: string;
            /**
             * Verification Uri
             * @description Where the person types the code.
             */
            verification_uri: string;
            /**
             * Verification Uri Complete
             * @description The same with the code in it.
             */
            verification_uri_complete: string;
        };
        /**
         * DeviceFigures
         * @description What was measured of one device. Of one that was not measured, most is left out.
         */
        DeviceFigures: {
            /**
             * Backend
             * @description What computed, such as `cuda`.
             */
            backend?: string | null;
            /**
             * Device
             * @description `cpu`, or the id of a card.
             */
            device: string;
            /**
             * Digest Seconds
             * @description How long it took to read everything once more.
             */
            digest_seconds?: number | null;
            /**
             * Fill Seconds
             * @description How long it took to compute.
             */
            fill_seconds?: number | null;
            /**
             * Filled Bytes
             * @description How much memory was filled.
             */
            filled_bytes?: number | null;
            /**
             * Gflops
             * @description Billions of operations a second, by the hub's clock.
             */
            gflops?: number | null;
            /**
             * Mark
             * @description What the hub makes of it.
             * @enum {string}
             */
            mark: "unverified" | "matches" | "too_slow" | "too_fast" | "failed";
            /** @description What the agent says that it measured itself. */
            reported?: components["schemas"]["Figures"] | null;
            /**
             * Reported Gflops
             * @description The same by the agent's clock.
             */
            reported_gflops?: number | null;
            /**
             * Tier Basis
             * @description Whether the tier is the card's, was measured, or is only claimed.
             * @enum {string}
             */
            tier_basis: "card" | "measured" | "claimed";
            /**
             * Tier Millis
             * @description The multiplier of its price, in thousandths.
             */
            tier_millis: number;
            /**
             * Words
             * @description The same in words, for people.
             */
            words: string;
        };
        /**
         * DeviceLoginView
         * @description A login that waits for approval.
         */
        DeviceLoginView: {
            /**
             * Address
             * @description The network address that it began from.
             */
            address: string;
            /**
             * Age Seconds
             * @description How long ago it began.
             */
            age_seconds: number;
            /**
             * Created At
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Expires At
             * Format: date-time
             * @description When it stops working; null for never.
             */
            expires_at: string;
            /**
             * Same Address
             * @description Whether that is the address of whoever looks at it.
             */
            same_address: boolean;
            /**
             * Scopes
             * @description What it will be able to do, once approved.
             */
            scopes: components["schemas"]["Scope"][];
            /**
             * User Agent
             * @description What the program calls itself: anybody can claim any name.
             */
            user_agent: string;
            /**
             * User Code
             * @description What the person types, or confirms.
             */
            user_code: string;
        };
        /** DeviceLookRequest */
        DeviceLookRequest: {
            /**
             * User Code
             * @description What the person types, or confirms.
             */
            user_code: string;
        };
        /** DeviceTokenRequest */
        DeviceTokenRequest: {
            /**
             * Device Code
             * @description What the program asks with until the person has decided.
             */
            device_code: string;
        };
        /** DifferenceList */
        DifferenceList: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["DifferenceView"][];
            /** @description The last comparison; null before the first. */
            last: components["schemas"]["ReconciliationView"] | null;
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
            /**
             * Total
             * @description How many match in all; null for more than 10,000.
             */
            total: number | null;
        };
        /** DifferenceView */
        DifferenceView: {
            /**
             * Found At
             * Format: date-time
             * @description When it was found.
             */
            found_at: string;
            /**
             * Here Minor
             * @description The amount by this hub's books, in the smallest unit of the currency.
             */
            here_minor: number | null;
            /**
             * Id
             * @description Its id.
             */
            id: number;
            /**
             * Kind
             * @description What kind it is.
             * @enum {string}
             */
            kind: "amount" | "currency" | "missing_here" | "missing_there" | "stuck";
            /**
             * Message
             * @description The state in words, for people.
             */
            message: string;
            /**
             * Movement
             * @description The payment at the processor.
             */
            movement: string;
            /**
             * Settled At
             * @description When somebody settled it; null before.
             */
            settled_at: string | null;
            /**
             * There Minor
             * @description The amount by the processor's books, in the smallest unit of the currency.
             */
            there_minor: number | null;
        };
        /** DisableRequest */
        DisableRequest: {
            /**
             * Cancel Jobs
             * @description Cancel the user's jobs that wait or run. Else they go on.
             * @default false
             */
            cancel_jobs?: boolean;
            /**
             * Reason
             * @description Why. It stays in the audit; the user does not see it.
             */
            reason: string;
        };
        /**
         * DisputeActions
         * @description What an admin may do about it.
         */
        DisputeActions: {
            /** @description Give back everything, or a part. */
            refund: components["schemas"]["ActionView"];
            /** @description Give back nothing. */
            refuse: components["schemas"]["ActionView"];
        };
        /** DisputeDecision */
        DisputeDecision: {
            /**
             * Credits
             * @description How much, in credits.
             */
            credits?: string | number | null;
            /**
             * Note
             * @description What the person who did it wrote.
             */
            note: string;
            /** @description How it was decided; null before. */
            outcome: components["schemas"]["Outcome"];
        };
        /**
         * DisputeFacts
         * @description All that an operator needs to decide.
         */
        DisputeFacts: {
            /**
             * Attempts
             * @description The attempts, in their order.
             */
            attempts: components["schemas"]["AttemptFacts"][];
            /** @description The dispute. */
            dispute: components["schemas"]["AdminDisputeView"];
            /**
             * Jobs
             * @description The jobs that it is about.
             */
            jobs: components["schemas"]["JobFacts"][];
            /**
             * Nodes
             * @description The nodes.
             */
            nodes: components["schemas"]["NodeFacts"][];
            /**
             * Paid Out
             * @description Of what hosts owe: what `admin cash-outs reverse` may bring back.
             */
            paid_out: components["schemas"]["PaidOutFacts"][];
            /**
             * Refundable Micros
             * @description What would come back with `full`.
             */
            refundable_micros: number;
        };
        /**
         * DisputeKind
         * @enum {string}
         */
        DisputeKind: "job" | "chargeback";
        /** DisputeList */
        DisputeList: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["DisputeView"][];
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
            /**
             * Total
             * @description How many match in all; null for more than 10,000.
             */
            total: number | null;
        };
        /** DisputeRequest */
        DisputeRequest: {
            /**
             * Reason
             * @description What was wrong with it. The operator and, in the end, the host's case depend on it.
             */
            reason: string;
        };
        /**
         * DisputeState
         * @enum {string}
         */
        DisputeState: "open" | "resolved";
        /** DisputeView */
        DisputeView: {
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Job Id
             * @description The id of the job.
             */
            job_id: string | null;
            /** @description What kind it is. */
            kind: components["schemas"]["DisputeKind"];
            /**
             * Micros
             * @description What it is about.
             */
            micros: number;
            /**
             * Note
             * @description What the person who did it wrote.
             */
            note: string;
            /**
             * Opened At
             * Format: date-time
             * @description When it was opened.
             */
            opened_at: string;
            /** @description How it was decided; null before. */
            outcome: components["schemas"]["Outcome"] | null;
            /**
             * Owner Id
             * @description The user or team that it belongs to.
             */
            owner_id: string;
            /**
             * Reason
             * @description Why: a word that stays the same for the same cause.
             */
            reason: string;
            /**
             * Refunded Micros
             * @description What renters got back.
             */
            refunded_micros: number;
            /**
             * Resolved At
             * @description When it was decided; null before.
             */
            resolved_at: string | null;
            /** @description In which state it is. */
            state: components["schemas"]["DisputeState"];
        };
        /**
         * DroppableFilter
         * @description A part of a filter that left nothing.
         */
        DroppableFilter: {
            /**
             * Field
             * @description What it asks about, as `market/filters` names it.
             */
            field: string;
            /**
             * Filter
             * @description As the filter writes it, such as `price<40`.
             */
            filter: string;
            /**
             * Left Alone
             * @description Offers that this part alone leaves.
             */
            left_alone: number;
            /**
             * Left Without
             * @description Offers that all the other parts leave.
             */
            left_without: number;
            /**
             * Parameter
             * @description The parameter that it came by; null for a part of `filter`.
             */
            parameter: string | null;
        };
        /**
         * Due
         * @description As it is now.
         */
        Due: {
            /**
             * Approved
             * @description Cash-outs that are approved and not paid yet.
             */
            approved: number;
            /**
             * Approved Micros
             * @description What these come to.
             */
            approved_micros: number;
            /**
             * Open Disputes
             * @description Disputes that nobody has decided.
             */
            open_disputes: number;
            /**
             * Requested
             * @description Cash-outs that wait for a decision.
             */
            requested: number;
            /**
             * Requested Micros
             * @description What these come to.
             */
            requested_micros: number;
        };
        /**
         * Earned
         * @description In a day or a month, in micro-credits.
         */
        Earned: {
            /**
             * Fee Micros
             * @description The platform's share of it.
             */
            fee_micros: number;
            /**
             * Gross Micros
             * @description What renters pay.
             */
            gross_micros: number;
            /**
             * Net Micros
             * @description What is left to the host: less the fee, and less power where it is known.
             */
            net_micros: number;
            /**
             * Power Micros
             * @description None where neither draw nor tariff is known.
             */
            power_micros: number | null;
        };
        /** Earnings */
        Earnings: {
            /**
             * Country
             * @description As two letters of ISO 3166; null where it is not known.
             */
            country: string | null;
            /**
             * Fee Bps
             * @description The platform's fee, in hundredths of a percent.
             */
            fee_bps: number;
            /** @description If it worked all day: the most that there is to earn at this price. */
            full_day: components["schemas"]["Earned"];
            /**
             * Gpu
             * @description The name of the card.
             */
            gpu: string;
            /**
             * Listed
             * @description The pool's table knows the card. Else its tier is measured when it joins; here it counts as the least.
             */
            listed: boolean;
            /** @description In a day. */
            per_day: components["schemas"]["Earned"] | null;
            /** @description Thirty days. */
            per_month: components["schemas"]["Earned"] | null;
            /**
             * Power Watts
             * @description The power that it draws, in watts.
             */
            power_watts: number | null;
            /**
             * Price Micros
             * @description What the pool suggests for an hour now, fee included.
             */
            price_micros: number;
            /**
             * Region
             * @description The region of the market.
             */
            region: string;
            /**
             * Region Factor
             * @description The factor of the region's prices.
             */
            region_factor: number;
            /**
             * Spot
             * @description The factor by which demand moves the price now.
             */
            spot: number;
            /**
             * Tariff Micros
             * @description For a kilowatt-hour.
             */
            tariff_micros: number | null;
            /**
             * Tier
             * @description The multiplier of a card's price.
             */
            tier: number;
            /**
             * Utilisation
             * @description The share of the time that such cards were in use; None where there is no data.
             */
            utilisation: number | null;
            /**
             * Utilisation Basis
             * @description Where the figure comes from.
             * @enum {string}
             */
            utilisation_basis: "measured" | "measured elsewhere" | "assumed" | "no data";
            /**
             * Utilisation Points
             * @description How many measurements it is made of.
             */
            utilisation_points: number;
        };
        /** EarningsList */
        EarningsList: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["Earnings"][];
        };
        /** EarningsView */
        EarningsView: {
            /**
             * Days
             * @description Every day, the oldest first, also those without earnings.
             */
            days: components["schemas"]["DayTotal"][];
            /**
             * Earned Micros
             * @description What the host earned.
             */
            earned_micros: number;
            /**
             * Items
             * @description By day, the newest first, then by node. Days on which a node earned nothing are left out.
             */
            items: components["schemas"]["DayEarned"][];
            /**
             * Nodes
             * @description The same by node, the one that earned most first.
             */
            nodes: components["schemas"]["NodeTotal"][];
            /**
             * Since
             * Format: date
             * @description The beginning of the time that this is about.
             */
            since: string;
            /**
             * Until
             * Format: date
             * @description Itself not included.
             */
            until: string;
        };
        /**
         * EndReason
         * @description Why an attempt ended, as its node saw it. The hub makes the verdict from it.
         * @enum {string}
         */
        EndReason: "exited" | "memory" | "disk" | "runtime" | "canceled" | "outputs" | "bundle" | "start_failed" | "sandbox" | "input" | "bad_input" | "unreachable" | "slow_input" | "node_disk" | "declined";
        /** EnrolReply */
        EnrolReply: {
            /**
             * Hub Id
             * @description The id of this hub.
             */
            hub_id: string;
            /**
             * Keys
             * @description The hub's keys, to be pinned.
             */
            keys: components["schemas"]["HubKey"][];
            /**
             * Name
             * @description Its name.
             */
            name: string;
            /**
             * Node Id
             * @description The id of the node.
             */
            node_id: string;
        };
        /** EnrolRequest */
        EnrolRequest: {
            /**
             * Agent Version
             * @description The version of the agent on the node.
             */
            agent_version: string;
            /** @description What the machine has, as its agent says. */
            capacity: components["schemas"]["CapacityInput"];
            /**
             * Country
             * @description As two letters of ISO 3166; null where it is not known.
             */
            country?: string | null;
            /**
             * Name
             * @description Its name.
             */
            name: string;
            /**
             * Replace
             * @description An earlier node of the same owner whose record this one goes on with.
             */
            replace?: string | null;
            /**
             * Seal Key
             * @description Base64 of the node's raw X25519 public key.
             */
            seal_key: string;
            /**
             * Sign Key
             * @description Base64 of the node's raw Ed25519 public key.
             */
            sign_key: string;
            /**
             * Signature
             * @description Over `enrol_proof_body(...)`, type `enrol_proof`, with the sign key: whoever enrols holds it.
             */
            signature: string;
            /**
             * Tags
             * @description Words that its owner gave it.
             * @default []
             */
            tags?: string[];
            /**
             * Token
             * @description The token.
             */
            token: string;
        };
        /** EntriesPage */
        EntriesPage: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["EntryView"][];
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
        };
        /** EntryView */
        EntryView: {
            /**
             * At
             * Format: date-time
             * @description When it happened.
             */
            at: string;
            /**
             * Attempt Id
             * @description The id of the attempt.
             */
            attempt_id: string | null;
            /**
             * Change Micros
             * @description What one has more or less afterwards, all pockets together.
             */
            change_micros: number;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Job Id
             * @description The id of the job.
             */
            job_id: string | null;
            /**
             * Job Name
             * @description Of a job of one's own; null to its hosts.
             */
            job_name: string | null;
            /**
             * Kind
             * @description What kind it is.
             * @enum {string}
             */
            kind: "grant" | "withdrawal" | "welcome" | "voucher" | "hold" | "settle" | "give_back" | "clawback" | "clawback_overturned" | "restitution" | "dispute_refund" | "dispute_refund_undone" | "storage" | "debt_filled" | "write_off" | "write_off_returned" | "top_up" | "refund_asked" | "refund" | "refund_failed" | "chargeback" | "chargeback_won" | "cash_out" | "cash_out_returned" | "pay_out";
            /**
             * Lines
             * @description The lines.
             */
            lines: components["schemas"]["LineView"][];
            /**
             * Node Id
             * @description Where the attempt ran.
             */
            node_id: string | null;
            /**
             * Node Name
             * @description The name of the node.
             */
            node_name: string | null;
            /**
             * Note
             * @description What the person who did it wrote.
             */
            note: string;
            /**
             * Pockets
             * @description By pocket, what it has more or less.
             */
            pockets: {
                [key: string]: number;
            };
            /**
             * Reverses
             * @description The entry that this one takes back.
             */
            reverses: string | null;
            /**
             * Title
             * @description What kind of entry it is, in words.
             */
            title: string;
        };
        /**
         * ErrorBody
         * @description The body of every answer with a status of 400 or more.
         */
        ErrorBody: {
            /** @description What was refused, and what to do. */
            error: components["schemas"]["ErrorDetail"];
        };
        /**
         * @description Every code there is. A newer hub may send others: then the status says what kind it is.
         * @enum {string}
         */
        ErrorCode: "accusation_decided" | "artifact_in_use" | "authorization_pending" | "bad_amount" | "bad_bundle" | "bad_canary" | "bad_credentials" | "bad_filter" | "bad_inputs" | "bad_invitation" | "bad_join_token" | "bad_market_table" | "bad_proof" | "bad_refresh_token" | "bad_request" | "bad_setting" | "bad_sign_in_link" | "bad_signature" | "bad_spec" | "bad_token" | "bank_decides" | "below_minimum" | "cash_out_state" | "cash_outs_frozen" | "code_taken" | "conflict" | "denied" | "digest_mismatch" | "dispute_resolved" | "disputed_before" | "email_taken" | "expired" | "forbidden" | "foreign_page" | "handle_limit" | "handle_taken" | "head_too_large" | "idempotency_mismatch" | "insufficient_credits" | "internal" | "invalid" | "invitation_of_another" | "job_disputed" | "job_not_final" | "job_not_finished" | "key_ended" | "key_taken" | "last_admin" | "last_owner" | "ledger_key_taken" | "mail_not_given_up" | "mail_not_sent" | "market_table_changed" | "method_not_allowed" | "missing_scope" | "money_off" | "more_than_owed" | "more_than_was_paid" | "more_than_you_have" | "needs_sign_in" | "no_payment_processor" | "no_payout_account" | "no_receipt" | "no_saved_card" | "no_such_accusation" | "no_such_canary_answer" | "no_such_cash_out" | "no_such_difference" | "no_such_dispute" | "no_such_event" | "no_such_job" | "no_such_join_token" | "no_such_mail" | "no_such_node" | "no_such_setting" | "no_such_share" | "no_such_team" | "no_such_top_up" | "no_such_user_code" | "no_such_voucher" | "no_such_wallet" | "node_state" | "not_cashable" | "not_contestable" | "not_found" | "not_paid" | "not_supported_yet" | "nothing_left" | "nothing_owed" | "nothing_paid" | "output_altered" | "owner_owes" | "paid_by_hand" | "paid_by_processor" | "processor_away" | "public_name_taken" | "queue_full" | "refresh_token_reused" | "refused" | "registration_closed" | "removed" | "repeated" | "replaced_already" | "request_changed" | "role_too_low" | "session_ended" | "setting_changed" | "signature_missing" | "signature_refused" | "size_mismatch" | "slow_down" | "stale_lease" | "storage_daily_quota" | "storage_full" | "storage_quota" | "storage_unavailable" | "storage_unpaid" | "team_limit" | "token_expired" | "token_limit" | "token_mistyped" | "token_revoked" | "too_busy" | "too_large" | "too_late_to_dispute" | "too_many_bundles" | "too_many_connections" | "too_many_failures" | "too_many_requests" | "too_many_streams" | "too_many_tries" | "too_slow" | "unauthenticated" | "unavailable" | "unknown_node" | "upload_incomplete" | "upload_mismatch" | "upload_over" | "url_expired" | "voucher_over" | "wrong_password" | "wrong_token";
        /** ErrorDetail */
        ErrorDetail: {
            /** @description Stable: programs match on it. */
            code: components["schemas"]["ErrorCode"];
            /**
             * Fields
             * @description Which fields of the request were refused, and why.
             * @default null
             */
            fields?: components["schemas"]["FieldError"][] | null;
            /**
             * Hint
             * @description What to do next, for people.
             * @default null
             */
            hint?: string | null;
            /**
             * Message
             * @description What happened, for people.
             */
            message: string;
        };
        /**
         * EventActions
         * @description What the reader may do about the event.
         */
        EventActions: {
            /** @description Say that it was not the node's fault: `POST /nodes/{node_id}/reliability/{event_id}/contest`. */
            contest: components["schemas"]["ActionView"];
        };
        /** EventList */
        EventList: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["ProcessorEvent"][];
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
            /**
             * Total
             * @description How many match in all; null for more than 10,000.
             */
            total: number | null;
        };
        /**
         * EventState
         * @enum {string}
         */
        EventState: "received" | "applied" | "unknown" | "ignored";
        /** Explained */
        Explained: {
            /**
             * Attempts
             * @description The attempts, in their order.
             */
            attempts: components["schemas"]["AttemptExplained"][];
            /**
             * Change Micros
             * @description What the viewer has more or less by this job.
             */
            change_micros: number;
            /**
             * Checks
             * @description Results that were computed more than once.
             */
            checks: components["schemas"]["CheckedView"][];
            /**
             * Entries
             * @description How many entries of the ledger.
             */
            entries: number;
            /**
             * Held Micros
             * @description Of the whole job, those attempts included that are not on this page; so are the following two.
             */
            held_micros: number;
            /**
             * Job Id
             * @description The id of the job.
             */
            job_id: string;
            /**
             * Next Slice
             * @description Where the attempts go on, if not all of them are here.
             */
            next_slice: number | null;
            /**
             * Others
             * @description Entries about the job as a whole.
             */
            others: components["schemas"]["PaymentView"][];
            /** @description Of the job; only for its renter. */
            state: components["schemas"]["JobState"] | null;
            /** @description Whose doing the end was; null before. */
            verdict: components["schemas"]["Verdict"] | null;
            /**
             * View
             * @description From whose side it is told.
             * @enum {string}
             */
            view: "renter" | "host";
            /**
             * Words
             * @description The same in words, for people.
             */
            words: string[];
        };
        /**
         * FailedSlices
         * @description Slices that ended in one way.
         */
        FailedSlices: {
            /**
             * Count
             * @description How many.
             */
            count: number;
            /**
             * Exit Code
             * @description What the command returned; null where it did not come to that.
             */
            exit_code: number | null;
            /**
             * Reason
             * @description Why: a word that stays the same for the same cause.
             */
            reason: components["schemas"]["AttemptReason"] | null;
            /**
             * Slices
             * @description Their numbers, such as `0-3, 17`.
             */
            slices: string;
            /** @description In which state it is. */
            state: components["schemas"]["JobState"];
            /** @description Whose doing the end was; null before. */
            verdict: components["schemas"]["Verdict"] | null;
        };
        /**
         * FieldError
         * @description One field of a request that was refused.
         */
        FieldError: {
            /**
             * Field
             * @description Its name, with dots between the parts: `resources.gpu`.
             */
            field: string;
            /**
             * Hint
             * @description What to write instead.
             * @default null
             */
            hint?: string | null;
            /**
             * Message
             * @description What is wrong with it. Reads on after the name of the field.
             */
            message: string;
            /**
             * Value
             * @description What was sent, shortened. Left out where it may be secret.
             * @default null
             */
            value?: string | null;
        };
        /**
         * Figures
         * @description What an agent measured by itself, and says; None for what could not be measured.
         */
        Figures: {
            /**
             * Device Copy Bytes Per Second
             * @description From memory to the device.
             */
            device_copy_bytes_per_second: number | null;
            /**
             * Disk Read Bytes Per Second
             * @description Perhaps from the system's cache, where that could not be emptied.
             */
            disk_read_bytes_per_second: number | null;
            /**
             * Disk Write Bytes Per Second
             * @description With everything on the disk at the end.
             */
            disk_write_bytes_per_second: number | null;
            /**
             * Host Copy Bytes Per Second
             * @description From memory to memory.
             */
            host_copy_bytes_per_second: number | null;
            /**
             * Seconds
             * @description That all of it took.
             * @default 0
             */
            seconds: number;
        };
        /**
         * FilledDefault
         * @description A field that the spec left out.
         */
        FilledDefault: {
            /**
             * Field
             * @description The key of the spec, such as `resources.memory`.
             */
            field: string;
            /**
             * Value
             * @description What is taken instead, as a spec writes it; null where the pool decides.
             */
            value: string | null;
            /**
             * Why
             * @description What that means, in a sentence.
             */
            why: string;
        };
        /** FilterField */
        FilterField: {
            /**
             * Example
             * @description A part of a filter that works.
             */
            example: string;
            /**
             * Kind
             * @description What values are: a number, a share from 0 to 1, bytes (`24GB`, or a number), credits, a choice of `values`, or
             *     true and false.
             * @enum {string}
             */
            kind: "number" | "share" | "bytes" | "credits" | "choice" | "flag";
            /**
             * Maximum
             * @description The most that an offer has now.
             */
            maximum: number | null;
            /**
             * Meaning
             * @description A sentence for a form.
             */
            meaning: string;
            /**
             * Minimum
             * @description The least that an offer has now; credits are in micros.
             */
            minimum: number | null;
            /**
             * Name
             * @description In the filter's text.
             */
            name: string;
            /**
             * Operators
             * @description That the filter's text takes.
             */
            operators: string[];
            /**
             * Orderable
             * @description Whether `order` takes it, with `-` for the greatest first.
             */
            orderable: boolean;
            /**
             * Parameters
             * @description The same as plain parameters.
             */
            parameters: components["schemas"]["FilterParameter"][];
            /**
             * Title
             * @description For a form.
             */
            title: string;
            /**
             * Values
             * @description Of a choice: what offers have now, the most frequent first. Of isolation: all levels, the weakest first.
             */
            values: components["schemas"]["FilterValue"][];
        };
        /** FilterParameter */
        FilterParameter: {
            /**
             * Name
             * @description Of a parameter of `market/offers`.
             */
            name: string;
            /**
             * Operator
             * @description What it stands for: `min_vram=24GB` is `gpu_memory>=24GB`.
             */
            operator: string;
        };
        /** FilterValue */
        FilterValue: {
            /**
             * Offers
             * @description How many offers have it now.
             */
            offers: number;
            /**
             * Value
             * @description As a parameter, or the filter, takes it.
             */
            value: string;
        };
        /**
         * FormulaView
         * @description All that the score is made of: mean = alpha / (alpha + beta), lower = the 5 % quantile of Beta(alpha, beta).
         */
        FormulaView: {
            /**
             * Alpha
             * @description What speaks for the node, with the prior.
             */
            alpha: number;
            /**
             * As Of
             * Format: date-time
             * @description The instant for which this was computed.
             */
            as_of: string;
            /**
             * Bad
             * @description What speaks against the node, faded to now.
             */
            bad: number;
            /**
             * Beta
             * @description What speaks against the node, with the prior.
             */
            beta: number;
            /**
             * Good
             * @description What speaks for the node, faded to now.
             */
            good: number;
            /**
             * Half Life Days
             * @description After how many days an event counts half.
             */
            half_life_days: number;
            /**
             * Lower Tail
             * @description The quantile that is the lower bound.
             * @default 0.05
             */
            lower_tail: number;
            /**
             * Owner With Checkpoint
             * @description What an end by the owner counts where a checkpoint saved the work.
             * @default -0.25
             */
            owner_with_checkpoint: number;
            /**
             * Prior Bad
             * @description What speaks against a node without a record.
             * @default 2
             */
            prior_bad: number;
            /**
             * Prior Good
             * @description What speaks for a node without a record.
             * @default 3
             */
            prior_good: number;
            /**
             * Weights
             * @description Of strangers' attempts; the owner's own count nothing.
             * @default {
             *       "budget": 0,
             *       "host": -4,
             *       "hub": 0,
             *       "ok": 1,
             *       "owner": -1,
             *       "preempted": 0,
             *       "renter": 0
             *     }
             */
            weights: {
                [key: string]: number;
            };
        };
        /**
         * Gate
         * @enum {string}
         */
        Gate: "simulated" | "node" | "trust" | "independent" | "welcome" | "version" | "country" | "tags" | "isolation" | "gpu" | "cpus" | "memory" | "disk" | "reliability" | "price" | "owner" | "declines" | "state" | "busy" | "allowance";
        /**
         * GateCount
         * @description How many nodes one rule removed, and why, in words.
         */
        GateCount: {
            /**
             * Detail
             * @description More about it, for people.
             */
            detail: string;
            /** @description The rule that a node has to pass. */
            gate: components["schemas"]["Gate"];
            /**
             * Removed
             * @description How many nodes it removed.
             */
            removed: number;
        };
        /**
         * GivenFile
         * @description A stored file that a job was given.
         */
        GivenFile: {
            /**
             * Digest
             * @description `sha256:` and the digest of the content, in hexadecimal digits.
             */
            digest: string;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Size Bytes
             * @description The size in bytes.
             */
            size_bytes: number;
        };
        /** Gpu */
        Gpu: {
            /**
             * Architecture
             * @description Such as `8.9` (compute capability) or `gfx1100`.
             * @default
             */
            architecture: string;
            /**
             * Driver
             * @description The version of the driver.
             * @default
             */
            driver: string;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Integrated
             * @description Shares the machine's memory: a laptop's second GPU, or an Apple one.
             * @default false
             */
            integrated: boolean;
            /**
             * Memory Bytes
             * @description Memory, in bytes.
             */
            memory_bytes: number;
            /**
             * Name
             * @description As the driver reports it; `slug` is the form that requests are compared with.
             */
            name: string;
            /**
             * Part Of
             * @description The card that this is a part of, where one card is divided into several (MIG).
             * @default
             */
            part_of: string;
            /**
             * Runtime
             * @description The newest that its driver can run, such as `cuda 12.4` or `rocm 6.2`.
             * @default
             */
            runtime: string;
            /**
             * Slug
             * @description The short name of the card, such as `rtx-4090`.
             */
            slug: string;
            /**
             * Vendor
             * @description nvidia, amd, intel or apple.
             * @default
             */
            vendor: string;
        };
        /** GpuInput */
        GpuInput: {
            /**
             * Architecture
             * @description Such as `8.9` (compute capability) or `gfx1100`.
             * @default
             */
            architecture?: string;
            /**
             * Driver
             * @description The version of the driver.
             * @default
             */
            driver?: string;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Integrated
             * @description Shares the machine's memory: a laptop's second GPU, or an Apple one.
             * @default false
             */
            integrated?: boolean;
            /**
             * Memory Bytes
             * @description Memory, in bytes.
             */
            memory_bytes: number;
            /**
             * Name
             * @description As the driver reports it; `slug` is the form that requests are compared with.
             */
            name: string;
            /**
             * Part Of
             * @description The card that this is a part of, where one card is divided into several (MIG).
             * @default
             */
            part_of?: string;
            /**
             * Runtime
             * @description The newest that its driver can run, such as `cuda 12.4` or `rocm 6.2`.
             * @default
             */
            runtime?: string;
            /**
             * Slug
             * @description The short name of the card, such as `rtx-4090`.
             */
            slug: string;
            /**
             * Vendor
             * @description nvidia, amd, intel or apple.
             * @default
             */
            vendor?: string;
        };
        /**
         * GpuLoad
         * @description A GPU as it is now; None for what its driver does not tell.
         */
        GpuLoad: {
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Memory Used Bytes
             * @description Memory in use, in bytes.
             */
            memory_used_bytes: number | null;
            /**
             * Power Watts
             * @description The power that it draws, in watts.
             */
            power_watts: number | null;
            /**
             * Temperature Celsius
             * @description How hot it is.
             */
            temperature_celsius: number | null;
            /**
             * Utilisation
             * @description The share that is in use, from 0 to 1.
             */
            utilisation: number | null;
        };
        /** GrantRequest */
        GrantRequest: {
            /**
             * Credits
             * @description How much, in credits.
             */
            credits: string | number;
            /**
             * Note
             * @description What the person who did it wrote.
             */
            note: string;
            /**
             * Promotional
             * @description It can be spent, and cannot be cashed out.
             * @default false
             */
            promotional?: boolean;
            /**
             * Unless Repeated
             * @description Refuse it if the same was done a few minutes ago: whoever types a command again may not mean it twice.
             * @default false
             */
            unless_repeated?: boolean;
            /**
             * User
             * @description An id, or an e-mail address.
             */
            user: string;
        };
        /** GrantView */
        GrantView: {
            /**
             * Available Micros
             * @description What can be spent or was topped up, in micro-credits.
             */
            available_micros: number;
            /**
             * Credits
             * @description How much, in credits.
             */
            credits: string;
            /**
             * Email
             * @description Of the user; a team has none.
             */
            email: string | null;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Micros
             * @description How much, in micro-credits.
             */
            micros: number;
            /**
             * Owner Id
             * @description The user or team that it belongs to.
             */
            owner_id: string;
            /**
             * Promotional Micros
             * @description Promotional credit: it can be spent, and cannot be cashed out.
             */
            promotional_micros: number;
            /**
             * Repaid Micros
             * @description Of what was given: it filled a debt, before anything could be spent.
             * @default 0
             */
            repaid_micros: number;
        };
        /**
         * GridKey
         * @description What a letter of the grid means.
         */
        GridKey: {
            /**
             * Count
             * @description How many slices have this letter.
             */
            count: number;
            /**
             * Label
             * @description In words.
             */
            label: string;
            /**
             * Letter
             * @description As it stands in `slices`.
             */
            letter: string;
            /** @description In which state it is. */
            state: components["schemas"]["JobState"];
        };
        /** HealthView */
        HealthView: {
            /**
             * Status
             * @description `ok`: the process lives. `ready`: it can do its work.
             * @enum {string}
             */
            status: "ok" | "ready";
        };
        /** HistoryPage */
        HistoryPage: {
            /** @description What the score is made of. */
            formula: components["schemas"]["FormulaView"];
            /**
             * Items
             * @description The newest first.
             */
            items: components["schemas"]["ReliabilityEvent"][];
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
            /** @description How reliable the node is. */
            reliability: components["schemas"]["ReliabilityView"];
            /**
             * Uptime
             * @description Of the last 30 days, or of the node's life where that is shorter; the oldest first.
             */
            uptime: components["schemas"]["DayUptime"][];
        };
        /** HostReport */
        HostReport: {
            /**
             * Attempts
             * @description For others, that ended in these days.
             */
            attempts: number;
            /**
             * Earned Micros
             * @description What the host earned.
             */
            earned_micros: number;
            /**
             * Lost
             * @description Through the host's own fault.
             */
            lost: number;
            /**
             * Mean
             * @description The mean, from 0 to 1.
             */
            mean: number;
            /**
             * Name
             * @description Its name.
             */
            name: string;
            /**
             * Node Id
             * @description The id of the node.
             */
            node_id: string;
            /**
             * Ok
             * @description Attempts that ended well.
             */
            ok: number;
            /**
             * Owner Email
             * @description The e-mail address of the owner; null for a team.
             */
            owner_email: string | null;
            /**
             * Owner Id
             * @description The user or team that it belongs to.
             */
            owner_id: string;
            /**
             * Refunded Attempts
             * @description Ever, after disputes.
             */
            refunded_attempts: number;
            /**
             * Reliability
             * @description As it is ranked: the 5 % lower bound.
             */
            reliability: number;
            /** @description In which state it is. */
            state: components["schemas"]["NodeState"];
        };
        /**
         * HouseRules
         * @description Which work of strangers the host welcomes. The owner's own is always welcome.
         */
        HouseRules: {
            /**
             * Gpu Only
             * @description Only jobs that need a GPU.
             * @default false
             */
            gpu_only: boolean;
            /**
             * Images
             * @description Patterns of welcome images, such as `pytorch/*`; None for any, empty for none.
             */
            images: string[] | null;
            /**
             * Internet
             * @description Jobs with `network: true`.
             * @default true
             */
            internet: boolean;
            /** @description The least for strangers' work; None leaves it to the pool. */
            isolation: components["schemas"]["IsolationLevel"] | null;
            /**
             * Longest Seconds
             * @description The longest job that is taken, in seconds.
             */
            longest_seconds: number | null;
            /**
             * Renters
             * @description Only these owners' jobs; empty for everybody's.
             * @default []
             */
            renters: string[];
            /**
             * Strangers
             * @description Whether others than the owner get work there.
             * @default true
             */
            strangers: boolean;
            /**
             * Turned Away
             * @description Renters who get nothing here.
             * @default []
             */
            turned_away: string[];
        };
        /**
         * HouseRulesInput
         * @description Which work of strangers the host welcomes. The owner's own is always welcome.
         */
        HouseRulesInput: {
            /**
             * Gpu Only
             * @description Only jobs that need a GPU.
             * @default false
             */
            gpu_only?: boolean;
            /**
             * Images
             * @description Patterns of welcome images, such as `pytorch/*`; None for any, empty for none.
             */
            images?: string[] | null;
            /**
             * Internet
             * @description Jobs with `network: true`.
             * @default true
             */
            internet?: boolean;
            /** @description The least for strangers' work; None leaves it to the pool. */
            isolation?: components["schemas"]["IsolationLevel"] | null;
            /**
             * Longest Seconds
             * @description The longest job that is taken, in seconds.
             */
            longest_seconds?: number | null;
            /**
             * Renters
             * @description Only these owners' jobs; empty for everybody's.
             * @default []
             */
            renters?: string[];
            /**
             * Strangers
             * @description Whether others than the owner get work there.
             * @default true
             */
            strangers?: boolean;
            /**
             * Turned Away
             * @description Renters who get nothing here.
             * @default []
             */
            turned_away?: string[];
        };
        /** HubKey */
        HubKey: {
            /** @description The key itself, signed by the one before it; None for the first. */
            announcement: components["schemas"]["Signed"] | null;
            /**
             * Key Id
             * @description The id of the key that signed it.
             */
            key_id: string;
            /**
             * Public Key
             * @description Base64 of the 32 raw bytes.
             */
            public_key: string;
            /** @description When it ended, signed by the current one; None while it may sign. */
            retirement: components["schemas"]["Signed"] | null;
        };
        /**
         * InsteadView
         * @description The manifest and receipt of an attempt that ran the slice once more, at another owner's, and was found right.
         */
        InsteadView: {
            /**
             * Attempt
             * @description The number of the attempt, counted from 1.
             */
            attempt: number;
            /**
             * Attempt Id
             * @description The id of the attempt.
             */
            attempt_id: string;
            /**
             * Job Id
             * @description Of the hidden job that it belongs to.
             */
            job_id: string;
            /** @description What the hub signed: the work, as the node got it. */
            manifest: components["schemas"]["Signed"];
            /** @description The node. */
            node: components["schemas"]["ReceiptNode"];
            /** @description What the node signed: what it ran and what came of it. */
            receipt: components["schemas"]["Signed"];
        };
        /** InvitationList */
        InvitationList: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["InvitationView"][];
        };
        /** InvitationRequest */
        InvitationRequest: {
            /**
             * Email
             * @description Only an account with this address can accept it.
             */
            email: string;
            /**
             * @description What the user may do: a `user`, or an `admin` who runs the pool.
             * @default member
             */
            role?: components["schemas"]["TeamRole"];
        };
        /** InvitationView */
        InvitationView: {
            /**
             * Created At
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Email
             * @description The e-mail address; null for a team.
             */
            email: string;
            /**
             * Expires At
             * Format: date-time
             * @description When it stops working; null for never.
             */
            expires_at: string;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Invited By
             * @description The user.
             */
            invited_by: string;
            /** @description What the user may do: a `user`, or an `admin` who runs the pool. */
            role: components["schemas"]["TeamRole"];
        };
        /**
         * IsolationLevel
         * @description From weakest to strongest; a job states the least it accepts.
         * @enum {string}
         */
        IsolationLevel: "process" | "bubblewrap" | "container" | "gvisor";
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
        /** JobChecks */
        JobChecks: {
            /**
             * Checks
             * @description Results that were computed more than once.
             */
            checks: components["schemas"]["CheckView"][];
            /**
             * Replicas
             * @description Those that run a slice once more.
             */
            replicas: components["schemas"]["ReplicaView"][];
        };
        /** JobFacts */
        JobFacts: {
            /**
             * Exit Code
             * @description What the command returned; null where it did not come to that.
             */
            exit_code: number | null;
            /**
             * Finished At
             * @description When it ended; null before.
             */
            finished_at: string | null;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Message
             * @description The state in words, for people.
             */
            message: string | null;
            /**
             * Name
             * @description Its name.
             */
            name: string;
            /** @description What was asked for, in its canonical form. */
            spec: components["schemas"]["WireSpec"];
            /** @description In which state it is. */
            state: components["schemas"]["JobState"];
            /**
             * Submitted At
             * Format: date-time
             * @description When it was submitted.
             */
            submitted_at: string;
            /** @description Whose doing the end was; null before. */
            verdict: components["schemas"]["Verdict"] | null;
        };
        /**
         * JobNode
         * @description Where an attempt runs or ran.
         */
        JobNode: {
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Name
             * @description Its name.
             */
            name: string;
        };
        /**
         * JobOrder
         * @description What a list is sorted by; with `-` the largest or newest first.
         * @enum {string}
         */
        JobOrder: "created" | "-created" | "finished" | "-finished" | "cost" | "-cost" | "name" | "-name";
        /** JobPage */
        JobPage: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["JobSummary"][];
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
            /**
             * Searched Since
             * @description A search by name covers the 10,000 newest jobs that the other filters leave. If there are more, this is when the
             *     oldest of them was submitted: ask with it as `until` to search earlier ones. Else null: all were searched.
             */
            searched_since: string | null;
            /**
             * Total
             * @description How many match in all; null for more than 10,000.
             */
            total: number | null;
        };
        /**
         * JobProgress
         * @description How many of its slices are where.
         */
        JobProgress: {
            /**
             * Failed
             * @description That did not, also those that were canceled.
             */
            failed: number;
            /**
             * Running
             * @description That have a node.
             */
            running: number;
            /**
             * Succeeded
             * @description That ended well.
             */
            succeeded: number;
            /**
             * Total
             * @description All of them.
             */
            total: number;
            /**
             * Waiting
             * @description That wait for a node.
             */
            waiting: number;
        };
        /**
         * JobState
         * @description A job's states, and a slice's.
         * @enum {string}
         */
        JobState: "queued" | "running" | "succeeded" | "failed" | "canceled";
        /**
         * JobSummary
         * @description A job in a list.
         */
        JobSummary: {
            /** @description What the reader may do with it. Null in the frames of its stream, which all readers share. */
            actions: components["schemas"]["JobActions"] | null;
            /**
             * Cancel Requested At
             * @description When somebody asked to cancel it.
             */
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
             * @description When it was made.
             */
            created_at: string;
            /**
             * Disputable Until
             * @description Of one that ended and was paid for: until when its renter can dispute it.
             */
            disputable_until: string | null;
            /**
             * Dispute Id
             * @description The dispute about it, open or resolved.
             */
            dispute_id: string | null;
            /**
             * Exit Code
             * @description What the command returned; null where it did not come to that.
             */
            exit_code: number | null;
            /**
             * Finished At
             * @description When it ended; null before.
             */
            finished_at: string | null;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Logs Removed At
             * @description The pool's operator keeps logs only for so long.
             */
            logs_removed_at: string | null;
            /**
             * Message
             * @description The state in words, for people.
             */
            message: string | null;
            /**
             * Name
             * @description Its name.
             */
            name: string;
            /**
             * Nodes
             * @description Where it runs or ran last; of a job with many slices, the first three of them.
             */
            nodes: components["schemas"]["JobNode"][];
            /**
             * Outputs Removed At
             * @description When its outputs were deleted; null while they are kept.
             */
            outputs_removed_at: string | null;
            /**
             * Owner Id
             * @description The user or team that it belongs to.
             */
            owner_id: string;
            /**
             * Owner Name
             * @description Null for a team.
             */
            owner_name: string | null;
            /**
             * Priority
             * @description Among the owner's own jobs; higher goes first.
             */
            priority: number;
            /** @description How far its slices are. */
            progress: components["schemas"]["JobProgress"];
            /**
             * Reason
             * @description Why: a word that stays the same for the same cause.
             */
            reason: components["schemas"]["AttemptReason"] | null;
            /**
             * Resources
             * @description What a slice asks for, in words: `1 × rtx-4090, 8 CPU, 16GB memory, 1GB disk`.
             */
            resources: string;
            /**
             * Retry Of
             * @description The job that this one repeats.
             */
            retry_of: string | null;
            /**
             * Simulated
             * @description It runs on simulated nodes alone: nothing of it is really run.
             */
            simulated: boolean;
            /**
             * Slice Count
             * @description How many slices the job has.
             */
            slice_count: number;
            /**
             * Slice Indices
             * @description Which of the spec's slices it runs, if not all: those of an earlier job that did not succeed.
             */
            slice_indices: number[] | null;
            /**
             * Started At
             * @description When it began to run; null before.
             */
            started_at: string | null;
            /** @description In which state it is. */
            state: components["schemas"]["JobState"];
            /** @description Whose doing the end was; null before. */
            verdict: components["schemas"]["Verdict"] | null;
        };
        /** JobTimeline */
        JobTimeline: {
            /**
             * Items
             * @description The oldest first.
             */
            items: components["schemas"]["TimelineEvent"][];
            /**
             * Next
             * @description The cursor of the next page; null on the last.
             */
            next: string | null;
        };
        /**
         * JobVerification
         * @description Whether a job's manifests and receipts are valid. `computepool verify` checks it without trusting the hub.
         */
        JobVerification: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["VerifiedAttempt"][];
            /**
             * Job Id
             * @description The id of the job.
             */
            job_id: string;
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
            /**
             * Verified
             * @description All attempts of this page hold, and no slice that succeeded lacks a receipt.
             */
            verified: boolean;
            /**
             * Without Receipt
             * @description On the first page: slices that are said to have succeeded, and no receipt says so.
             */
            without_receipt: number[];
        };
        /** JobView */
        JobView: {
            /** @description What the reader may do with it. Null in the frames of its stream, which all readers share. */
            actions: components["schemas"]["JobActions"] | null;
            /**
             * Cancel Requested At
             * @description When somebody asked to cancel it.
             */
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
             * @description When it was made.
             */
            created_at: string;
            /**
             * Disputable Until
             * @description Of one that ended and was paid for: until when its renter can dispute it.
             */
            disputable_until: string | null;
            /**
             * Dispute Id
             * @description The dispute about it, open or resolved.
             */
            dispute_id: string | null;
            /**
             * Exit Code
             * @description What the command returned; null where it did not come to that.
             */
            exit_code: number | null;
            /**
             * Failures
             * @description All slices that did not succeed, those that ended alike together.
             */
            failures: components["schemas"]["FailedSlices"][];
            /**
             * Finished At
             * @description When it ended; null before.
             */
            finished_at: string | null;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Logs Removed At
             * @description The pool's operator keeps logs only for so long.
             */
            logs_removed_at: string | null;
            /**
             * Message
             * @description The state in words, for people.
             */
            message: string | null;
            /**
             * Name
             * @description Its name.
             */
            name: string;
            /**
             * Next Slice
             * @description Where its slices go on after those that are shown, if there are more: ask with `?from_slice=`.
             */
            next_slice: number | null;
            /**
             * Outputs Removed At
             * @description When its outputs were deleted; null while they are kept.
             */
            outputs_removed_at: string | null;
            /**
             * Owner Id
             * @description The user or team that it belongs to.
             */
            owner_id: string;
            /**
             * Owner Name
             * @description Null for a team, and in the answer that makes the job.
             */
            owner_name: string | null;
            /**
             * Priority
             * @description Among the owner's own jobs; higher goes first.
             */
            priority: number;
            /**
             * Reason
             * @description Why: a word that stays the same for the same cause.
             */
            reason: components["schemas"]["AttemptReason"] | null;
            /**
             * Resources
             * @description What a slice asks for, in words: `1 × rtx-4090, 8 CPU, 16GB memory, 1GB disk`.
             */
            resources: string;
            /**
             * Retry Of
             * @description The job that this one repeats.
             */
            retry_of: string | null;
            /** @description Of a job with attempts that somebody pays for and that have not ended. Null in its stream. */
            running_cost: components["schemas"]["RunningCost"] | null;
            /**
             * Simulated
             * @description It runs on simulated nodes alone: nothing of it is really run.
             */
            simulated: boolean;
            /**
             * Slice Count
             * @description How many slices the job has.
             */
            slice_count: number;
            /**
             * Slice Indices
             * @description Which of the spec's slices it runs, if not all: those of an earlier job that did not succeed.
             */
            slice_indices: number[] | null;
            /**
             * Slices
             * @description In order, from the first that was asked for; at most a thousand, and fewer if they had many attempts.
             */
            slices: components["schemas"]["SliceView"][];
            /** @description What was asked for, in its canonical form. */
            spec: components["schemas"]["WireSpec"];
            /**
             * Started At
             * @description When it began to run; null before.
             */
            started_at: string | null;
            /** @description In which state it is. */
            state: components["schemas"]["JobState"];
            /** @description Whose doing the end was; null before. */
            verdict: components["schemas"]["Verdict"] | null;
        };
        /**
         * JoinCommand
         * @description What to type on a machine that joins.
         */
        JoinCommand: {
            /**
             * Install
             * @description Lines that install the program, where it is not there yet.
             */
            install: string[];
            /**
             * Join
             * @description The line that joins, with the token and, where the hub signed its certificate itself, the pin of its key.
             */
            join: string;
            /**
             * Note
             * @description What else to know.
             */
            note: string;
            /**
             * Platform
             * @description The operating system and architecture.
             * @enum {string}
             */
            platform: "linux" | "macos" | "windows";
        };
        /** JoinTokenActions */
        JoinTokenActions: {
            /** @description Let no more machines join with it: `DELETE /nodes/join-tokens/{token_id}`. */
            revoke: components["schemas"]["ActionView"];
        };
        /**
         * JoinTokenItem
         * @description A join token, without its text: that was shown once.
         */
        JoinTokenItem: {
            /** @description What the reader may do with it. */
            actions: components["schemas"]["JoinTokenActions"];
            /**
             * Created At
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Expires At
             * Format: date-time
             * @description When it stops working; null for never.
             */
            expires_at: string;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Nodes
             * @description Those that joined with it.
             */
            nodes: components["schemas"]["JoinedNode"][];
            /**
             * Owner Id
             * @description The user or team that it belongs to.
             */
            owner_id: string;
            /**
             * Owner Name
             * @description null for an owner that is not a user.
             */
            owner_name: string | null;
            /**
             * Revoked At
             * @description When it was revoked; null for one that was not.
             */
            revoked_at: string | null;
            /**
             * State
             * @description open: machines can join with it.
             * @enum {string}
             */
            state: "open" | "used_up" | "expired" | "revoked";
            /**
             * Uses
             * @description How many machines it was made for.
             */
            uses: number;
            /**
             * Uses Left
             * @description How many more may join with it.
             */
            uses_left: number;
        };
        /** JoinTokenPage */
        JoinTokenPage: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["JoinTokenItem"][];
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
            /**
             * Total
             * @description How many match in all; null for more than 10,000.
             */
            total: number | null;
        };
        /** JoinTokenView */
        JoinTokenView: {
            /**
             * Commands
             * @description One for each kind of system.
             */
            commands: components["schemas"]["JoinCommand"][];
            /**
             * Expires At
             * Format: date-time
             * @description When it stops working; null for never.
             */
            expires_at: string;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Token
             * @description Shown once.
             */
            token: string;
            /**
             * Uses
             * @description How often it can be used.
             */
            uses: number;
            /**
             * Warning
             * @description Why other machines cannot join with these lines; null where they can.
             */
            warning: string | null;
        };
        /** JoinedNode */
        JoinedNode: {
            /**
             * Created At
             * Format: date-time
             * @description When it joined.
             */
            created_at: string;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Name
             * @description Its name.
             */
            name: string;
            /** @description In which state it is. */
            state: components["schemas"]["NodeState"];
        };
        /** KeysView */
        KeysView: {
            /**
             * Hub Id
             * @description The id of this hub.
             */
            hub_id: string;
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["HubKey"][];
        };
        /**
         * KnownAnswer
         * @description A slice that is sent as a canary, because its right result is known.
         */
        KnownAnswer: {
            /**
             * Gpu Class
             * @description The only model of GPU on which it is known; None for work without a GPU.
             */
            gpu_class: string | null;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Job Id
             * @description The id of the job.
             */
            job_id: string;
            /**
             * Kind
             * @description audit or replicas: owners agreed on it. known: an operator vouches for it.
             * @enum {string}
             */
            kind: "audit" | "replicas" | "known";
            /**
             * Seconds
             * @description How long.
             */
            seconds: number;
            /**
             * Since
             * Format: date-time
             * @description The beginning of the time that this is about.
             */
            since: string;
            /**
             * Slice
             * @description The number of the slice, counted from 0.
             */
            slice: number;
        };
        /** KnownAnswers */
        KnownAnswers: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["KnownAnswer"][];
            /**
             * Rate Per Day
             * @description Canaries that each node gets in a day online, on average.
             */
            rate_per_day: number;
        };
        /** LaterView */
        LaterView: {
            /**
             * At
             * Format: date-time
             * @description When it happened.
             */
            at: string;
            /**
             * Micros
             * @description How much, in micro-credits.
             */
            micros: number;
        };
        /** LeaderboardPlace */
        LeaderboardPlace: {
            /**
             * Name
             * @description The public name that its owner chose.
             */
            name: string;
            /**
             * Place
             * @description From 1. Those who did the same share one.
             */
            place: number;
            /** @description What its nodes did for others. */
            work: components["schemas"]["WorkDone"];
        };
        /** LeaderboardView */
        LeaderboardView: {
            /**
             * Counted At
             * @description When it was counted; null until it was.
             */
            counted_at: string | null;
            /**
             * Items
             * @description Owners who have a public name, by GPU hours, then core hours: at most 100.
             */
            items: components["schemas"]["LeaderboardPlace"][];
            /** @description Everybody else's together: owners without a public name, and beyond the hundredth place. */
            others: components["schemas"]["WorkDone"];
            /**
             * Period
             * @description The last 7 or 30 days of UTC, today included, or all days.
             * @enum {string}
             */
            period: "7d" | "30d" | "all";
            /** @description What everybody's nodes did. */
            total: components["schemas"]["WorkDone"];
        };
        /**
         * LedgerReport
         * @description Whether all postings, balances and holds add up.
         */
        LedgerReport: {
            /**
             * Accounts
             * @description How many accounts the ledger has.
             */
            accounts: number;
            /**
             * Balanced
             * @description Whether everything adds up.
             */
            balanced: boolean;
            /**
             * Cash Outs Frozen
             * @description Until a check finds everything in order again.
             */
            cash_outs_frozen: boolean;
            /**
             * Checked At
             * Format: date-time
             * @description When it was checked.
             */
            checked_at: string;
            /**
             * Entries
             * @description How many entries of the ledger.
             */
            entries: number;
            /**
             * Moved Micros
             * @description What all postings together moved.
             */
            moved_micros: number;
            /**
             * Platform
             * @description By account of the pool's own, its balance in micros.
             */
            platform: {
                [key: string]: number;
            };
            /**
             * Postings
             * @description How many postings the ledger has.
             */
            postings: number;
            /**
             * Problems
             * @description What does not add up, in words.
             */
            problems: string[];
        };
        /**
         * LedgerState
         * @description What is known of the ledger, without a new check.
         */
        LedgerState: {
            /**
             * Frozen Since
             * @description Since when nobody is paid out, because the ledger does not add up; null while it does.
             */
            frozen_since: string | null;
            /** @description What the last check found; null before the first, a minute after the hub's start. */
            last: components["schemas"]["LedgerReport"] | null;
        };
        /**
         * LimitsChange
         * @description All of them at once: what is left out, or null, is the pool's default again.
         */
        LimitsChange: {
            /**
             * Daily Micros
             * @description The most that may be spent in a day.
             */
            daily_micros?: number | null;
            /**
             * Hourly Micros
             * @description The most that may be spent in an hour.
             */
            hourly_micros?: number | null;
            /**
             * Monthly Micros
             * @description The most in a month.
             */
            monthly_micros?: number | null;
            /**
             * Slices
             * @description How many slices.
             */
            slices?: number | null;
        };
        /**
         * LimitsView
         * @description About other people's nodes; one's own are not limited. Null is no limit.
         */
        LimitsView: {
            /**
             * Daily Micros
             * @description The most that may be spent in a day.
             */
            daily_micros: number | null;
            /**
             * Hourly Micros
             * @description The most that may be spent in an hour.
             */
            hourly_micros: number | null;
            /**
             * Limit Queued Bytes
             * @description The most that waiting jobs may take, in bytes.
             */
            limit_queued_bytes: number | null;
            /**
             * Limit Queued Slices
             * @description The most slices that may wait.
             */
            limit_queued_slices: number | null;
            /**
             * Monthly Micros
             * @description The most in a month.
             */
            monthly_micros: number | null;
            /**
             * Owner Id
             * @description The user or team that it belongs to.
             */
            owner_id: string;
            /**
             * Queued Bytes
             * @description What the specs of open jobs take of the hub's memory, about.
             */
            queued_bytes: number;
            /**
             * Queued Slices
             * @description That wait for a node.
             */
            queued_slices: number;
            /**
             * Running Hourly Micros
             * @description What everything that runs costs in an hour.
             */
            running_hourly_micros: number | null;
            /**
             * Running Slices
             * @description How many slices run now.
             */
            running_slices: number;
            /**
             * Slices
             * @description How many slices.
             */
            slices: number | null;
            /**
             * Spent This Month Micros
             * @description What was spent this month.
             */
            spent_this_month_micros: number | null;
            /**
             * Spent Today Micros
             * @description By what has ended, since midnight of UTC.
             */
            spent_today_micros: number | null;
        };
        /**
         * LineFigures
         * @description A node's connection to the hub.
         */
        LineFigures: {
            /**
             * Down Bytes Per Second
             * @description From the hub to the node.
             */
            down_bytes_per_second?: number | null;
            /**
             * Round Trip Seconds
             * @description There and back.
             */
            round_trip_seconds?: number | null;
            /**
             * Up Bytes Per Second
             * @description From the node to the hub.
             */
            up_bytes_per_second?: number | null;
        };
        /**
         * LineView
         * @description One movement, as seen from one's own side.
         */
        LineView: {
            /**
             * Destination
             * @description Where it went.
             */
            destination: ("available" | "promotional" | "earnings" | "held" | "cashing_out" | "debt") | ("host" | "pool" | "fee" | "outside" | "write_off" | "other");
            /**
             * Micros
             * @description How much, in micro-credits.
             */
            micros: number;
            /**
             * Source
             * @description Where it came from: a pocket of one's own, or what the other account is.
             */
            source: ("available" | "promotional" | "earnings" | "held" | "cashing_out" | "debt") | ("host" | "pool" | "fee" | "outside" | "write_off" | "other");
        };
        /** LogAttempt */
        LogAttempt: {
            /**
             * Finished At
             * @description When it ended; null before.
             */
            finished_at: string | null;
            /**
             * Number
             * @description The number of the attempt, counted from 1.
             */
            number: number;
            /**
             * Started At
             * @description When it began to run; null before.
             */
            started_at: string | null;
            /** @description In which state it is. */
            state: components["schemas"]["AttemptState"];
        };
        /**
         * LogInfo
         * @description How large a log is, also while it is written.
         */
        LogInfo: {
            /**
             * Attempt
             * @description The number of the attempt; 0 while the slice has none.
             */
            attempt: number;
            /**
             * Attempts
             * @description Of the slice, the newest first: each has a log of its own.
             */
            attempts: components["schemas"]["LogAttempt"][];
            /**
             * Bytes
             * @description Stored so far.
             */
            bytes: number;
            /**
             * Complete
             * @description Nothing more can come.
             */
            complete: boolean;
            /**
             * Job Id
             * @description The id of the job.
             */
            job_id: string;
            /**
             * Lines
             * @description In these bytes. A last line without a newline counts, too.
             */
            lines: number;
            /**
             * Slice
             * @description The number of the slice, counted from 0.
             */
            slice: number;
            /**
             * Url
             * @description A URL to download it, which works without a token for an hour; null while the slice has no attempt. Relative to
             *     the hub's address.
             */
            url: string | null;
        };
        /** LoginRequest */
        LoginRequest: {
            /**
             * Browser
             * @description The session is a browser's: where the hub has an https address and the request comes from its own page, the
             *     refresh token is set as a cookie and is null in the answer. Elsewhere the answer has it.
             * @default false
             */
            browser?: boolean;
            /**
             * Email
             * @description The e-mail address; null for a team.
             */
            email: string;
            /**
             * Password
             * @description The password.
             */
            password: string;
        };
        /** LogoutRequest */
        LogoutRequest: {
            /**
             * Refresh Token
             * @description For `auth/refresh`; each is good for one use.
             */
            refresh_token?: string | null;
        };
        /**
         * MailActions
         * @description What an admin may do about a mail.
         */
        MailActions: {
            /** @description Try it again. */
            resend: components["schemas"]["ActionView"];
        };
        /** MailList */
        MailList: {
            /**
             * Away
             * @description Why nothing can be sent now.
             */
            away: string | null;
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["MailView"][];
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
            /**
             * Total
             * @description How many match in all; null for more than 10,000.
             */
            total: number | null;
            /**
             * Waiting
             * @description What still waits.
             */
            waiting: number;
            /**
             * Where
             * @description The server without user and password, or the log.
             */
            where: string;
        };
        /**
         * MailPreferences
         * @description Which mails the user wants. Mails to admins about the pool itself cannot be turned off.
         */
        MailPreferences: {
            /**
             * Disputes
             * @description Mails about disputes.
             */
            disputes: boolean;
            /**
             * Jobs
             * @description Jobs of the user that ended.
             */
            jobs: boolean;
            /**
             * Money
             * @description Top-ups, the card, cash-outs, restitution, storage. null where the pool works without money.
             */
            money: boolean | null;
            /**
             * Nodes
             * @description Findings about the user's nodes, and decisions about contested ones.
             */
            nodes: boolean;
        };
        /** MailPreferencesChange */
        MailPreferencesChange: {
            /**
             * Disputes
             * @description Mails about disputes.
             */
            disputes?: boolean | null;
            /**
             * Jobs
             * @description Mails about jobs.
             */
            jobs?: boolean | null;
            /**
             * Money
             * @description Mails about money.
             */
            money?: boolean | null;
            /**
             * Nodes
             * @description The nodes.
             */
            nodes?: boolean | null;
        };
        /**
         * MailState
         * @enum {string}
         */
        MailState: "waiting" | "sent" | "logged" | "given_up";
        /** MailTest */
        MailTest: {
            /**
             * Address
             * @description The e-mail address.
             */
            address: string;
            /**
             * Answer
             * @description What the server said when it took the mail.
             */
            answer: string;
            /**
             * Where
             * @description The server that took the mail.
             */
            where: string;
        };
        /** MailTestRequest */
        MailTestRequest: {
            /**
             * Address
             * @description The e-mail address.
             */
            address: string;
        };
        /** MailView */
        MailView: {
            /** @description What an admin may do about it. */
            actions: components["schemas"]["MailActions"];
            /**
             * Address
             * @description The e-mail address.
             */
            address: string;
            /**
             * Created At
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Ended At
             * @description When it came to its end; null before.
             */
            ended_at: string | null;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Next Try At
             * @description When it is tried again; null when it is over.
             */
            next_try_at: string | null;
            /**
             * Notices
             * @description How many things it tells of.
             */
            notices: number;
            /** @description In which state it is. */
            state: components["schemas"]["MailState"];
            /**
             * Subject
             * @description What it is about.
             */
            subject: string;
            /**
             * Tries
             * @description How often it was tried.
             */
            tries: number;
            /**
             * User Id
             * @description The id of the user.
             */
            user_id: string;
            /**
             * Words
             * @description What the server said last.
             */
            words: string;
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
            /**
             * Simulated
             * @description It only pretends to compute: no real hardware.
             */
            simulated: boolean;
            /** @description In which state it is. */
            state: components["schemas"]["NodeState"];
            /**
             * Tier
             * @description `cpu`, or the multiplier of their cards.
             */
            tier: string;
        };
        /**
         * MapView
         * @description Where the pool's nodes are, by country. It tells no machine's place.
         */
        MapView: {
            /**
             * Cells
             * @description Nodes that are alike, counted.
             */
            cells: components["schemas"]["MapCell"][];
            /**
             * Countries
             * @description Where real nodes are that can be reached now.
             */
            countries: number;
            /**
             * Nodes
             * @description Real ones, in every state.
             */
            nodes: number;
            /**
             * Simulated
             * @description Nodes without real hardware.
             */
            simulated: number;
        };
        /** MarketNodeView */
        MarketNodeView: {
            /** @description What the hub measured of it. */
            benchmark: components["schemas"]["PublicBenchmark"];
            /**
             * Busy
             * @description It runs something now.
             */
            busy: boolean;
            /**
             * Country
             * @description As two letters of ISO 3166; null where it is not known.
             */
            country: string | null;
            /**
             * Cpu Model
             * @description The name of the processor.
             */
            cpu_model: string;
            /**
             * Cpus
             * @description Cores.
             */
            cpus: number;
            /**
             * Disk Bytes
             * @description Disk, in bytes.
             */
            disk_bytes: number;
            /**
             * Gpus
             * @description The cards.
             */
            gpus: components["schemas"]["PublicCard"][];
            /**
             * Gpus Free
             * @description Nobody uses them now; null while the node takes no work.
             */
            gpus_free: number | null;
            /** @description The strongest level that strangers' jobs get there; null where they get none. */
            isolation: components["schemas"]["IsolationLevel"] | null;
            /**
             * Memory Bytes
             * @description Memory, in bytes.
             */
            memory_bytes: number;
            /**
             * Network
             * @description Jobs with `network: true` are welcome.
             */
            network: boolean;
            /**
             * Node Id
             * @description The id of the node.
             */
            node_id: string;
            /**
             * Owner Name
             * @description The public name of its owner, for one who chose a name; else null.
             */
            owner_name: string | null;
            /** @description What strangers pay now; null in a pool without money. */
            price: components["schemas"]["PublicPriceNow"] | null;
            /**
             * Price History
             * @description What it asked for an hour on each of the last 30 days, the oldest first, at the tier that it has now. Days
             *     without stored prices are left out.
             */
            price_history: components["schemas"]["DayPrice"][] | null;
            /** @description What is known of its past. */
            record: components["schemas"]["PublicRecord"];
            /**
             * Region
             * @description The region of the market.
             */
            region: string | null;
            /**
             * Simulated
             * @description It only pretends to compute: no real hardware.
             */
            simulated: boolean;
            /** @description In which state it is. */
            state: components["schemas"]["NodeState"];
            /**
             * Tags
             * @description Words that its owner gave it.
             */
            tags: string[];
            /**
             * Takes Work
             * @description It is among the offers now.
             */
            takes_work: boolean;
        };
        /**
         * MarketTableNote
         * @description A table of the market, which has a route of its own.
         */
        MarketTableNote: {
            /**
             * Changed At
             * @description When an admin last changed it.
             */
            changed_at: string | null;
            /**
             * Changed By
             * @description The id of that admin.
             */
            changed_by: string | null;
            /**
             * Name
             * @description Its name.
             * @enum {string}
             */
            name: "tiers" | "regions" | "rates";
            /**
             * Path
             * @description Where it is read and changed.
             */
            path: string;
            /**
             * Version
             * @description Grows with each change; 0 before the first.
             */
            version: number;
        };
        /**
         * MeChange
         * @description What is left out stays as it is.
         */
        MeChange: {
            /**
             * Country
             * @description null: no country.
             */
            country?: string | null;
            /**
             * Handle
             * @description Another handle; the former one still leads to the caller, and nobody else gets it.
             */
            handle?: string | null;
            /** @description Which mails are sent. */
            mails?: components["schemas"]["MailPreferencesChange"] | null;
            /**
             * Name
             * @description Its name.
             */
            name?: string | null;
            /**
             * Public Name
             * @description Show the caller under this name on the leaderboard and beside their nodes; null: show nothing of them.
             */
            public_name?: string | null;
        };
        /** MeView */
        MeView: {
            /**
             * Country
             * @description As two letters of ISO 3166; null where it is not known.
             */
            country: string | null;
            /**
             * Created At
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Email
             * @description The e-mail address; null for a team.
             */
            email: string;
            /**
             * Handle
             * @description The caller's unique name in addresses and links.
             */
            handle: string;
            /**
             * Has Password
             * @description Whether the account has a password; else it signs in by links.
             */
            has_password: boolean;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /** @description Which mails are sent. */
            mails: components["schemas"]["MailPreferences"];
            /**
             * Managed By
             * @description The team whose service account the caller is; null for a person.
             */
            managed_by: string | null;
            /**
             * Name
             * @description Its name.
             */
            name: string;
            /**
             * Public Name
             * @description The name on the leaderboard and beside the caller's nodes; null for a caller who is not shown there.
             */
            public_name: string | null;
            /** @description What the user may do: a `user`, or an `admin` who runs the pool. */
            role: components["schemas"]["Role"];
            /**
             * Scopes
             * @description Of the token that asks.
             */
            scopes: components["schemas"]["Scope"][];
            /**
             * Session Id
             * @description Of the session that an access token belongs to.
             */
            session_id: string | null;
            /**
             * Teams
             * @description That the caller belongs to.
             */
            teams: components["schemas"]["MyTeam"][];
            /**
             * Token Id
             * @description The id of the token.
             */
            token_id: string | null;
            /**
             * Token Kind
             * @description An access token of a session, or a personal token.
             * @enum {string}
             */
            token_kind: "access" | "personal";
        };
        /** MemberChange */
        MemberChange: {
            /** @description What the user may do: a `user`, or an `admin` who runs the pool. */
            role: components["schemas"]["TeamRole"];
        };
        /** MemberList */
        MemberList: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["MemberView"][];
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
        };
        /** MemberView */
        MemberView: {
            /**
             * Email
             * @description null for a service account, and for a reader who is no owner or admin of the team.
             */
            email: string | null;
            /**
             * Handle
             * @description The unique name in addresses and links.
             */
            handle: string;
            /**
             * Joined At
             * Format: date-time
             * @description When they came to the team.
             */
            joined_at: string;
            /**
             * Name
             * @description Its name.
             */
            name: string;
            /** @description What the user may do: a `user`, or an `admin` who runs the pool. */
            role: components["schemas"]["TeamRole"];
            /**
             * Service
             * @description A service account: for programs, managed by the team.
             */
            service: boolean;
            /**
             * User Id
             * @description The id of the user.
             */
            user_id: string;
        };
        /**
         * Miss
         * @description A node that is nearest to what was asked for, and what is in its way.
         */
        Miss: {
            /**
             * Gates
             * @description What it does not pass.
             */
            gates: components["schemas"]["Gate"][];
            /**
             * Node Id
             * @description The id of the node.
             */
            node_id: string;
        };
        /** MyTeam */
        MyTeam: {
            /**
             * Handle
             * @description The unique name in addresses and links.
             */
            handle: string;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /** @description The caller's. */
            role: components["schemas"]["TeamRole"];
        };
        /** NewInvitationView */
        NewInvitationView: {
            /**
             * Created At
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Email
             * @description The e-mail address; null for a team.
             */
            email: string;
            /**
             * Expires At
             * Format: date-time
             * @description When it stops working; null for never.
             */
            expires_at: string;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Invited By
             * @description The user.
             */
            invited_by: string;
            /** @description What the user may do: a `user`, or an `admin` who runs the pool. */
            role: components["schemas"]["TeamRole"];
            /**
             * Token
             * @description Shown this once. Give it to the person: `computepool team join TOKEN`.
             */
            token: string;
        };
        /** NewJoinToken */
        NewJoinToken: {
            /**
             * Expires In Seconds
             * @description After how many seconds it stops working.
             * @default 900
             */
            expires_in_seconds?: number;
            /**
             * Uses
             * @description How often it can be used.
             * @default 1
             */
            uses?: number;
        };
        /** NewShare */
        NewShare: {
            /**
             * Created At
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Expires At
             * @description When it stops working; null for never.
             */
            expires_at: string | null;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Job Id
             * @description The id of the job.
             */
            job_id: string;
            /**
             * Token
             * @description Told once. The job is at `GET public/shares/{token}`.
             */
            token: string;
            /**
             * With Logs
             * @description Whether the link shows the logs.
             */
            with_logs: boolean;
            /**
             * With Outputs
             * @description Whether the link shows which outputs there are.
             */
            with_outputs: boolean;
        };
        /** NewTokenView */
        NewTokenView: {
            /**
             * Created At
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Expires At
             * Format: date-time
             * @description When it stops working; null for never.
             */
            expires_at: string;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Last Used At
             * @description When it was last used.
             */
            last_used_at: string | null;
            /**
             * Name
             * @description Its name.
             */
            name: string;
            /**
             * Scopes
             * @description What the token may be used for.
             */
            scopes: components["schemas"]["Scope"][];
            /**
             * Token
             * @description Shown this once.
             */
            token: string;
        };
        /**
         * NodeActions
         * @description What the reader may do with the node.
         */
        NodeActions: {
            /** @description Finish what runs and take nothing new: `POST /nodes/{node_id}/drain`. */
            drain: components["schemas"]["ActionView"];
            /** @description Change name, tags or country: `PATCH /nodes/{node_id}`. */
            edit: components["schemas"]["ActionView"];
            /** @description Take the machine back at once, through its agent: `POST /nodes/{node_id}/pause`. */
            pause: components["schemas"]["ActionView"];
            /** @description Change its hours and when it counts as idle: `PATCH /nodes/{node_id}/policy`. */
            policy: components["schemas"]["ActionView"];
            /** @description Set or remove a price: `PATCH /nodes/{node_id}`. null in a pool without money. */
            price: components["schemas"]["ActionView"] | null;
            /** @description Take it out of the pool for good: `POST /nodes/{node_id}/ban`. */
            remove: components["schemas"]["ActionView"];
            /** @description Take work again after a drain: `POST /nodes/{node_id}/resume`. */
            resume: components["schemas"]["ActionView"];
            /** @description Replace the node's key. */
            rotate_key: components["schemas"]["ActionView"];
            /** @description End such a pause: `POST /nodes/{node_id}/unpause`. */
            unpause: components["schemas"]["ActionView"];
        };
        /**
         * NodeAttempt
         * @description An attempt as the host of its node sees it.
         */
        NodeAttempt: {
            /**
             * Attempt Id
             * @description Its id.
             */
            attempt_id: string;
            /**
             * Billed Seconds
             * @description How much of its running time was paid so far.
             */
            billed_seconds: number;
            /**
             * Cpus
             * @description The cores that it had.
             */
            cpus: number;
            /**
             * Earned Micros
             * @description What its host got for it so far.
             */
            earned_micros: number | null;
            /**
             * Finished At
             * @description When it ended.
             */
            finished_at: string | null;
            /**
             * Gpus
             * @description The ids of the GPUs that it had.
             */
            gpus: string[];
            /** @description The level that it ran at. */
            isolation: components["schemas"]["IsolationLevel"] | null;
            /**
             * Job Id
             * @description The job that it belongs to, for `explain`; without its name, owner or spec.
             */
            job_id: string;
            /**
             * Leased At
             * Format: date-time
             * @description When the node got it.
             */
            leased_at: string;
            /**
             * Memory Bytes
             * @description The memory that it had.
             */
            memory_bytes: number;
            /**
             * Own
             * @description The job was the host's own.
             */
            own: boolean;
            /**
             * Price Micros
             * @description For an hour, fee included, as its lease locked it.
             */
            price_micros: number | null;
            /**
             * Reason
             * @description Why it ended; null before.
             */
            reason: components["schemas"]["AttemptReason"] | null;
            /**
             * Running Seconds
             * @description How long its command has run by the hub's clock, without suspensions.
             */
            running_seconds: number;
            /**
             * Started At
             * @description When its command began.
             */
            started_at: string | null;
            /** @description Where it is. */
            state: components["schemas"]["AttemptState"];
            /**
             * Unsettled Micros
             * @description While it runs: about what it has earned besides, which is settled hour by hour and at its end.
             */
            unsettled_micros: number | null;
            /** @description Whose doing its end was; null before. */
            verdict: components["schemas"]["Verdict"] | null;
        };
        /** NodeAttemptPage */
        NodeAttemptPage: {
            /**
             * Items
             * @description The newest first, unless another order was asked for.
             */
            items: components["schemas"]["NodeAttempt"][];
            /**
             * Next
             * @description The cursor of the next page; null on the last.
             */
            next: string | null;
            /**
             * Total
             * @description How many there are in all; null for more than 10,000.
             */
            total: number | null;
        };
        /** NodeChange */
        NodeChange: {
            /**
             * Country
             * @description Null if nobody is to know.
             */
            country?: string | null;
            /**
             * Name
             * @description Its name.
             */
            name?: string | null;
            /** @description A floor or a fixed price for the leases to come; null leaves it to the pool. */
            price?: components["schemas"]["PriceChange"] | null;
            /**
             * Tags
             * @description Words that its owner gave it.
             */
            tags?: string[] | null;
        };
        /** NodeFacts */
        NodeFacts: {
            /**
             * Earnings Micros
             * @description Of its owner: what is there to be taken back.
             */
            earnings_micros: number;
            /**
             * Name
             * @description Its name.
             */
            name: string;
            /**
             * Node Id
             * @description The id of the node.
             */
            node_id: string;
            /**
             * Owner Email
             * @description The e-mail address of the owner; null for a team.
             */
            owner_email: string | null;
            /**
             * Owner Id
             * @description The user or team that it belongs to.
             */
            owner_id: string;
            /**
             * Refunded Before
             * @description Attempts of it for which disputes gave something back.
             */
            refunded_before: number;
            /** @description How reliable the node is. */
            reliability: components["schemas"]["ReliabilityView"];
        };
        /** NodeKeyReply */
        NodeKeyReply: {
            /**
             * Key Id
             * @description The only key that the hub takes from this node from now on.
             */
            key_id: string;
            /**
             * Node Id
             * @description The id of the node.
             */
            node_id: string;
        };
        /** NodeKeyRequest */
        NodeKeyRequest: {
            /** @description A `NodeKeyChange`, type `node_key_change`, signed with the key that the node had until now. */
            change: components["schemas"]["Signed"];
            /**
             * Signature
             * @description Over the same body, with the new key: whoever asks holds it.
             */
            signature: string;
        };
        /** NodePage */
        NodePage: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["NodeView"][];
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
            /**
             * Total
             * @description How many match in all; null for more than 10,000.
             */
            total: number | null;
        };
        /**
         * NodePolicyView
         * @description What the owner of a machine allows there.
         */
        NodePolicyView: {
            /**
             * Node Id
             * @description The id of the node.
             */
            node_id: string;
            /** @description The newest pause, or end of one, that was asked for; null for none. */
            pause_request: components["schemas"]["OwnerRequestView"] | null;
            /**
             * Paused
             * @description Where its owner paused it; null while it is not paused.
             */
            paused: ("hub" | "machine") | null;
            /**
             * Paused Until
             * @description When the pause ends by itself; null for never.
             */
            paused_until: string | null;
            /** @description The newest change that was asked for; null for none. */
            policy_request: components["schemas"]["OwnerRequestView"] | null;
            /**
             * Problem
             * @description Why the machine does not follow its policy's file, and follows an earlier one; null where it does.
             */
            problem: string | null;
            /**
             * Reported At
             * @description When the agent last told its policy; null where it never did.
             */
            reported_at: string | null;
            /**
             * Settings
             * @description Every setting, in the order of the file.
             */
            settings: components["schemas"]["PolicySettingView"][];
        };
        /**
         * NodePrice
         * @description A node that would do, without a word about whose it is.
         */
        NodePrice: {
            /**
             * Country
             * @description As two letters of ISO 3166; null where it is not known.
             */
            country: string | null;
            /**
             * Cpus
             * @description Cores.
             */
            cpus: number;
            /**
             * Free Now
             * @description It could begin at once.
             */
            free_now: boolean;
            /** @description What a slice would get there: now, or where it is not free now, once it is. */
            gives: components["schemas"]["SliceAmounts"];
            /**
             * Gpus
             * @description The cards.
             */
            gpus: string[];
            /**
             * Node Id
             * @description The id of the node.
             */
            node_id: string;
            /**
             * Own
             * @description One of the caller's: free.
             */
            own: boolean;
            /**
             * Price Micros
             * @description Of one slice-hour.
             */
            price_micros: number | null;
            /**
             * Reliability
             * @description How reliable the node is.
             */
            reliability: number;
        };
        /**
         * NodeState
         * @enum {string}
         */
        NodeState: "online" | "paused" | "draining" | "quarantined" | "offline" | "banned";
        /** NodeTelemetry */
        NodeTelemetry: {
            /**
             * Columns
             * @description The metrics that have at least one sample in this time.
             */
            columns: components["schemas"]["SeriesColumn"][];
            /**
             * Gpus
             * @description The ids of `gpu0`, `gpu1` and so on, as the node has them now.
             */
            gpus: string[];
            /**
             * Node Id
             * @description Whose telemetry it is.
             */
            node_id: string;
            /**
             * Points
             * @description How many numbers each column has.
             */
            points: number;
            /**
             * Start At
             * Format: date-time
             * @description When the first point begins.
             */
            start_at: string;
            /**
             * Step Seconds
             * @description How long each point is: what was asked for, or more.
             */
            step_seconds: number;
        };
        /** NodeTotal */
        NodeTotal: {
            /**
             * Attempts
             * @description For which something came or went.
             */
            attempts: number;
            /**
             * Earned Micros
             * @description All days together, what was given back taken off.
             */
            earned_micros: number;
            /**
             * Node Id
             * @description The id of the node.
             */
            node_id: string;
            /**
             * Node Name
             * @description The name of the node.
             */
            node_name: string;
        };
        /** NodeView */
        NodeView: {
            /** @description What the reader may do with it. */
            actions: components["schemas"]["NodeActions"];
            /**
             * Agent Version
             * @description The version of the agent on the node.
             */
            agent_version: string;
            /** @description What strangers pay for it now. What runs keeps the price that it was leased at. */
            ask: components["schemas"]["AskView"] | null;
            /** @description What its owner leaves to strangers right now; None for a node that is not there. */
            availability: components["schemas"]["Availability"] | null;
            /** @description What the hub measured of it. */
            benchmark: components["schemas"]["BenchmarkView"];
            /** @description What the machine has, as its agent says. */
            capacity: components["schemas"]["Capacity"];
            /**
             * Clone Seen At
             * @description When a second agent with this node's key was last refused.
             */
            clone_seen_at: string | null;
            /**
             * Country
             * @description As two letters of ISO 3166; null where it is not known.
             */
            country: string | null;
            /**
             * Created At
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Earned Today Micros
             * @description What it earned since midnight of UTC, what was given back taken off.
             */
            earned_today_micros: number | null;
            /** @description What is not in use now. */
            free: components["schemas"]["Room"] | null;
            /**
             * Gpu Loads
             * @description How busy each card is now.
             */
            gpu_loads: components["schemas"]["GpuLoad"][];
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Last Seen At
             * @description When the hub last heard of it.
             */
            last_seen_at: string | null;
            /**
             * Name
             * @description Its name.
             */
            name: string;
            /**
             * Notice
             * @description What its owner should know: why it gets less work than it could, or that a copy of it was refused.
             */
            notice: string;
            /**
             * Owner Id
             * @description The user or team that it belongs to.
             */
            owner_id: string;
            /**
             * Owner Name
             * @description null for an owner that is not a user.
             */
            owner_name: string | null;
            /** @description What its host set; None where it is left to the pool. */
            price: components["schemas"]["PriceView"] | null;
            /** @description How reliable the node is. */
            reliability: components["schemas"]["ReliabilityView"];
            /**
             * Running
             * @description What these are, the first 20. Price and earnings of each: `GET /nodes/{node_id}/attempts`.
             */
            running: components["schemas"]["RunningAttempt"][];
            /**
             * Running Attempts
             * @description How many attempts it has now.
             */
            running_attempts: number;
            /**
             * Slices At Once
             * @description Slices of others that it gets at once, by what was measured of it and what it has earned; None for as many as it
             *     claims to hold.
             */
            slices_at_once: number | null;
            /** @description In which state it is. */
            state: components["schemas"]["NodeState"];
            /**
             * Tags
             * @description Words that its owner gave it.
             */
            tags: string[];
        };
        /** NoticePage */
        NoticePage: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["NoticeView"][];
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
            /**
             * Total
             * @description How many match in all; null for more than 10,000.
             */
            total: number | null;
            /**
             * Unread
             * @description How many are unread in all; null for more than 10,000.
             */
            unread: number | null;
        };
        /** NoticeView */
        NoticeView: {
            /**
             * At
             * Format: date-time
             * @description When it happened.
             */
            at: string;
            /**
             * Code
             * @description What happened, such as `job.failed`: the same word for the same cause.
             */
            code: string;
            /**
             * Id
             * @description Its id.
             */
            id: number;
            /**
             * Kind
             * @description What it is about.
             * @enum {string}
             */
            kind: "jobs" | "money" | "disputes" | "nodes" | "account";
            /**
             * Link
             * @description The page of the web app that shows more, as a path; null where there is none.
             */
            link: string | null;
            /**
             * Read At
             * @description When it was read; null before.
             */
            read_at: string | null;
            /**
             * Severity
             * @description How much it matters: info, warning or error.
             * @enum {string}
             */
            severity: "info" | "warning" | "error";
            /**
             * Subject Id
             * @description The id of what it is about: a job, a node, a cash-out.
             */
            subject_id: string;
            /**
             * Text
             * @description More about it; may be empty.
             */
            text: string;
            /**
             * Title
             * @description What happened, in a sentence.
             */
            title: string;
        };
        /** Offer */
        Offer: {
            /**
             * Core Price Micros
             * @description For an hour of one core, where no GPU is asked for.
             */
            core_price_micros: number | null;
            /**
             * Country
             * @description As two letters of ISO 3166; null where it is not known.
             */
            country: string | null;
            /**
             * Cpus
             * @description Cores.
             */
            cpus: number;
            /**
             * Disk Bytes
             * @description Disk, in bytes.
             */
            disk_bytes: number;
            /**
             * Gflops
             * @description Billions of operations a second of one GPU (the slowest), or of one core where it has none, as the hub measured
             *     it; null for a node that was not measured.
             */
            gflops: number | null;
            /**
             * Gpu Memory Bytes
             * @description Of its smallest card.
             */
            gpu_memory_bytes: number;
            /**
             * Gpus
             * @description By kind, one for each.
             */
            gpus: string[];
            /**
             * Gpus Free
             * @description Cards that are not in use.
             */
            gpus_free: number;
            /** @description The strongest that it has proven, of those that strangers get there. */
            isolation: components["schemas"]["IsolationLevel"];
            /**
             * Memory Bytes
             * @description Memory, in bytes.
             */
            memory_bytes: number;
            /**
             * Node Id
             * @description The id of the node.
             */
            node_id: string;
            /**
             * Per
             * @description gpu or core.
             * @enum {string}
             */
            per: "gpu" | "core";
            /**
             * Price Micros
             * @description For an hour of one of its GPUs; of one core, where it has none. Fee included.
             */
            price_micros: number | null;
            /**
             * Price Per Tflops Micros
             * @description Price by speed: for an hour of a thousand of these. Null for a node that was not measured.
             */
            price_per_tflops_micros: number | null;
            /**
             * Region
             * @description The region of the market.
             */
            region: string;
            /**
             * Reliability
             * @description The lower bound that `min_reliability` asks for; its mean is `reliability_mean`.
             */
            reliability: number;
            /**
             * Reliability Mean
             * @description The mean of its reliability, from 0 to 1.
             */
            reliability_mean: number;
            /**
             * Simulated
             * @description It only pretends to compute: no real hardware.
             */
            simulated: boolean;
            /**
             * Tags
             * @description Words that its owner gave it.
             */
            tags: string[];
            /**
             * Tier
             * @description The multiplier of a card's price.
             */
            tier: number | null;
            /**
             * Tier Basis
             * @description card, measured or claimed: whether its speed was seen.
             */
            tier_basis: ("card" | "measured" | "claimed") | null;
            /**
             * Verified
             * @description It has earned the trust that `where.trust: verified` asks for.
             */
            verified: boolean;
        };
        /** OfferFilters */
        OfferFilters: {
            /**
             * Default Order
             * @description If none is named.
             */
            default_order: string;
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["FilterField"][];
            /**
             * Offers
             * @description Real ones, now: what the values were counted in.
             */
            offers: number;
        };
        /** OfferPage */
        OfferPage: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["Offer"][];
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
            /**
             * Simulated
             * @description How many more there are that only pretend: they are listed with `simulated=true`.
             */
            simulated: number;
            /**
             * To Drop
             * @description Where nothing is left: each part of the filter, the one whose removal leaves most first.
             */
            to_drop: components["schemas"]["DroppableFilter"][];
            /**
             * Total
             * @description How many the filter left.
             */
            total: number;
        };
        /** OneTimeRequest */
        OneTimeRequest: {
            /**
             * Browser
             * @description The session is a browser's: where the hub has an https address and the request comes from its own page, the
             *     refresh token is set as a cookie and is null in the answer. Elsewhere the answer has it.
             * @default false
             */
            browser?: boolean;
            /**
             * Token
             * @description The token.
             */
            token: string;
        };
        /**
         * Optimize
         * @enum {string}
         */
        Optimize: "cost" | "speed" | "balanced";
        /**
         * Outcome
         * @enum {string}
         */
        Outcome: "full" | "partial" | "none";
        /** OutputPage */
        OutputPage: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["OutputView"][];
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
            /**
             * Zip Url
             * @description A URL to download all outputs of the job as one zip archive, which works without a token for an hour. Null on a
             *     page without items. Relative to the hub's address.
             */
            zip_url: string | null;
        };
        /** OutputRef */
        OutputRef: {
            /**
             * Digest
             * @description `sha256:` and the digest of the content, in hexadecimal digits.
             */
            digest: string;
            /**
             * Path
             * @description The path of the file, below the folder of the job.
             */
            path: string;
            /**
             * Size Bytes
             * @description The size in bytes.
             */
            size_bytes: number;
        };
        /** OutputView */
        OutputView: {
            /**
             * Attempt
             * @description The number of the attempt, counted from 1.
             */
            attempt: number;
            /**
             * Digest
             * @description `sha256:` and the digest of the content, in hexadecimal digits.
             */
            digest: string;
            /**
             * Downloads
             * @description The URLs of its parts, in order.
             */
            downloads: string[];
            /**
             * Media Type
             * @description What it is, by its name: `application/octet-stream` where that does not tell.
             */
            media_type: string;
            /**
             * Part Bytes
             * @description The size of each part but the last.
             */
            part_bytes: number;
            /**
             * Path
             * @description The path of the file, below the folder of the job.
             */
            path: string;
            /**
             * Preview Url
             * @description The same to show it: texts of every kind come as `text/plain`. What is not what its name says comes as a file to
             *     keep. Null if it is not previewable.
             */
            preview_url: string | null;
            /**
             * Previewable
             * @description A browser can show it: a text, a picture, sound or a film, by its name.
             */
            previewable: boolean;
            /**
             * Size Bytes
             * @description The size in bytes.
             */
            size_bytes: number;
            /**
             * Slice
             * @description The number of the slice, counted from 0.
             */
            slice: number;
            /**
             * Url
             * @description A URL to download it in one piece, which works without a token for an hour. Range works. Relative to the hub's
             *     address.
             */
            url: string;
        };
        /** Overview */
        Overview: {
            /** @description As many days before these, to compare with. */
            before: components["schemas"]["OverviewFigures"];
            /**
             * Counted At
             * @description When the newest of these days was counted; null where nothing was counted yet.
             */
            counted_at: string | null;
            /**
             * Days
             * @description Oldest first, today last. Every day is there.
             */
            days: components["schemas"]["OverviewDay"][];
            /** @description The day of UTC that is not over yet. */
            today: components["schemas"]["OverviewDay"];
            /** @description All of `days` together. */
            totals: components["schemas"]["OverviewFigures"];
        };
        /** OverviewDay */
        OverviewDay: {
            /**
             * Attempts
             * @description Attempts that ended.
             */
            attempts: number;
            /**
             * Attempts By Verdict
             * @description Attempts that ended, by verdict.
             */
            attempts_by_verdict: {
                [key: string]: number;
            };
            /**
             * Day
             * Format: date
             * @description A day of UTC.
             */
            day: string;
            /**
             * Ended
             * @description Jobs that ended, by final state; states without any are left out.
             */
            ended: {
                [key: string]: number;
            };
            /**
             * Ended By Verdict
             * @description Jobs that ended, by verdict.
             */
            ended_by_verdict: {
                [key: string]: number;
            };
            /**
             * Fees Micros
             * @description The platform's share of that, without what was given back.
             */
            fees_micros: number | null;
            /**
             * Gpu Seconds
             * @description The same, times the GPUs of each attempt.
             */
            gpu_seconds: number;
            /**
             * Jobs
             * @description Jobs that were submitted.
             */
            jobs: number;
            /**
             * Nodes
             * @description Nodes on which an attempt ended. Over several days: the most of one day.
             */
            nodes: number;
            /**
             * Paid In Micros
             * @description Money that came in: top-ups, and credits granted for money.
             */
            paid_in_micros: number | null;
            /**
             * Paid Out Micros
             * @description Money that went to hosts: cash-outs, without what was taken back.
             */
            paid_out_micros: number | null;
            /**
             * Refunded Micros
             * @description What renters got back: after disputes, checks, and attempts that came to nothing.
             */
            refunded_micros: number | null;
            /**
             * Renters
             * @description Owners who submitted a job. Over several days: the most of one day.
             */
            renters: number;
            /**
             * Returned Micros
             * @description Money that went back to cards: refunds and chargebacks.
             */
            returned_micros: number | null;
            /**
             * Running Seconds
             * @description What these attempts ran, without suspension.
             */
            running_seconds: number;
            /**
             * Slices
             * @description Slices of these jobs.
             */
            slices: number;
            /**
             * Spent Micros
             * @description What renters paid for attempts.
             */
            spent_micros: number | null;
            /**
             * Start Average Seconds
             * @description How long they took from the lease to the start of the command; null where there was none.
             */
            start_average_seconds: number | null;
            /**
             * Start Most Seconds
             * @description The longest of these.
             */
            start_most_seconds: number;
            /**
             * Starts
             * @description Attempts that ended and had started.
             */
            starts: number;
            /**
             * Storage Micros
             * @description What owners paid for storage.
             */
            storage_micros: number | null;
            /**
             * Users
             * @description Accounts that were opened.
             */
            users: number;
            /**
             * Wait Average Seconds
             * @description How long they had waited since the submission; null where there was none.
             */
            wait_average_seconds: number | null;
            /**
             * Wait Most Seconds
             * @description The longest of these waits.
             */
            wait_most_seconds: number;
            /**
             * Waits
             * @description Slices that got their first lease.
             */
            waits: number;
            /**
             * Withdrawn Micros
             * @description Money that renters got back by hand.
             */
            withdrawn_micros: number | null;
            /**
             * Written Off Micros
             * @description Debts that the pool bore.
             */
            written_off_micros: number | null;
        };
        /**
         * OverviewFigures
         * @description What was counted. Jobs are counted without those that the platform runs to check others; attempts with them.
         */
        OverviewFigures: {
            /**
             * Attempts
             * @description Attempts that ended.
             */
            attempts: number;
            /**
             * Attempts By Verdict
             * @description Attempts that ended, by verdict.
             */
            attempts_by_verdict: {
                [key: string]: number;
            };
            /**
             * Ended
             * @description Jobs that ended, by final state; states without any are left out.
             */
            ended: {
                [key: string]: number;
            };
            /**
             * Ended By Verdict
             * @description Jobs that ended, by verdict.
             */
            ended_by_verdict: {
                [key: string]: number;
            };
            /**
             * Fees Micros
             * @description The platform's share of that, without what was given back.
             */
            fees_micros: number | null;
            /**
             * Gpu Seconds
             * @description The same, times the GPUs of each attempt.
             */
            gpu_seconds: number;
            /**
             * Jobs
             * @description Jobs that were submitted.
             */
            jobs: number;
            /**
             * Nodes
             * @description Nodes on which an attempt ended. Over several days: the most of one day.
             */
            nodes: number;
            /**
             * Paid In Micros
             * @description Money that came in: top-ups, and credits granted for money.
             */
            paid_in_micros: number | null;
            /**
             * Paid Out Micros
             * @description Money that went to hosts: cash-outs, without what was taken back.
             */
            paid_out_micros: number | null;
            /**
             * Refunded Micros
             * @description What renters got back: after disputes, checks, and attempts that came to nothing.
             */
            refunded_micros: number | null;
            /**
             * Renters
             * @description Owners who submitted a job. Over several days: the most of one day.
             */
            renters: number;
            /**
             * Returned Micros
             * @description Money that went back to cards: refunds and chargebacks.
             */
            returned_micros: number | null;
            /**
             * Running Seconds
             * @description What these attempts ran, without suspension.
             */
            running_seconds: number;
            /**
             * Slices
             * @description Slices of these jobs.
             */
            slices: number;
            /**
             * Spent Micros
             * @description What renters paid for attempts.
             */
            spent_micros: number | null;
            /**
             * Start Average Seconds
             * @description How long they took from the lease to the start of the command; null where there was none.
             */
            start_average_seconds: number | null;
            /**
             * Start Most Seconds
             * @description The longest of these.
             */
            start_most_seconds: number;
            /**
             * Starts
             * @description Attempts that ended and had started.
             */
            starts: number;
            /**
             * Storage Micros
             * @description What owners paid for storage.
             */
            storage_micros: number | null;
            /**
             * Users
             * @description Accounts that were opened.
             */
            users: number;
            /**
             * Wait Average Seconds
             * @description How long they had waited since the submission; null where there was none.
             */
            wait_average_seconds: number | null;
            /**
             * Wait Most Seconds
             * @description The longest of these waits.
             */
            wait_most_seconds: number;
            /**
             * Waits
             * @description Slices that got their first lease.
             */
            waits: number;
            /**
             * Withdrawn Micros
             * @description Money that renters got back by hand.
             */
            withdrawn_micros: number | null;
            /**
             * Written Off Micros
             * @description Debts that the pool bore.
             */
            written_off_micros: number | null;
        };
        /**
         * OwnerRequestView
         * @description What was asked of the agent last.
         */
        OwnerRequestView: {
            /**
             * Answered At
             * @description When the agent answered; null before.
             */
            answered_at: string | null;
            /**
             * Changes
             * @description Settings and their new values.
             */
            changes: {
                [key: string]: boolean | string;
            };
            /**
             * For Seconds
             * @description How long the pause lasts; null until it is ended.
             */
            for_seconds: number | null;
            /**
             * Pause
             * @description Whether it asks for a pause or for its end; null where it is about settings.
             */
            pause: boolean | null;
            /**
             * Reason
             * @description Why the agent refused it; null where it did not.
             */
            reason: string | null;
            /**
             * Requested At
             * Format: date-time
             * @description When it was asked for.
             */
            requested_at: string;
            /**
             * Requested By
             * @description The user who asked for it.
             */
            requested_by: string;
            /**
             * State
             * @description pending: the agent has not answered; it is told when it is connected.
             * @enum {string}
             */
            state: "pending" | "applied" | "refused";
        };
        /** OwnerUsage */
        OwnerUsage: {
            /**
             * Bytes
             * @description Of bundles, inputs, outputs, checkpoints and logs.
             */
            bytes: number;
            /**
             * Bytes Today
             * @description Added since midnight of UTC, deleted again or not.
             */
            bytes_today: number;
            /**
             * Cost Micros Per Day
             * @description Of what is stored now.
             */
            cost_micros_per_day: number | null;
            /**
             * Email
             * @description The e-mail address; null for a team.
             */
            email: string | null;
            /**
             * Free Bytes
             * @description Where storage has a price: what is stored for nothing.
             */
            free_bytes: number | null;
            /**
             * Limit Bytes
             * @description The most that may be stored, in bytes.
             */
            limit_bytes: number | null;
            /**
             * Limit Bytes Per Day
             * @description Until the first credits are bought.
             */
            limit_bytes_per_day: number | null;
            /**
             * Limit Objects
             * @description The most objects that may be stored.
             */
            limit_objects: number | null;
            /**
             * Objects
             * @description Files and logs.
             */
            objects: number;
            /**
             * Own Limits
             * @description An admin gave it limits of its own.
             */
            own_limits: boolean;
            /**
             * Owner Id
             * @description The user or team that it belongs to.
             */
            owner_id: string;
            /**
             * Price Micros
             * @description Of a GB beyond that, for a day.
             */
            price_micros: number | null;
            /**
             * Refused From
             * @description If it is still unpaid on that day, nothing more is stored.
             */
            refused_from: string | null;
            /**
             * Unpaid Micros
             * @description For earlier days that could not be paid.
             */
            unpaid_micros: number | null;
            /**
             * Unpaid Since
             * @description The first of these days, of UTC.
             */
            unpaid_since: string | null;
        };
        /** OwnersUsage */
        OwnersUsage: {
            /**
             * Bytes
             * @description Of everybody.
             */
            bytes: number;
            /**
             * Items
             * @description Those who store most first.
             */
            items: components["schemas"]["OwnerUsage"][];
            /**
             * Objects
             * @description How many objects.
             */
            objects: number;
            /**
             * Owners
             * @description How many owners store something.
             */
            owners: number;
        };
        /** PaidByHand */
        PaidByHand: {
            /**
             * Note
             * @description For the host.
             * @default
             */
            note?: string;
            /**
             * Reference
             * @description Of the payment: what a host finds on their statement.
             */
            reference: string;
        };
        /**
         * PaidOutFacts
         * @description What a host owes, and was paid not long ago: the processor may take it back.
         */
        PaidOutFacts: {
            /**
             * Cash Out Id
             * @description The id of the cash-out.
             */
            cash_out_id: string;
            /**
             * Micros
             * @description How much, in micro-credits.
             */
            micros: number;
            /**
             * Owner Email
             * @description The e-mail address of the owner; null for a team.
             */
            owner_email: string | null;
            /**
             * Owner Id
             * @description The user or team that it belongs to.
             */
            owner_id: string;
            /**
             * Way
             * @description By which way it is paid.
             */
            way: string;
        };
        /** PasswordRequest */
        PasswordRequest: {
            /**
             * Browser
             * @description The session is a browser's: where the hub has an https address and the request comes from its own page, the
             *     refresh token is set as a cookie and is null in the answer. Elsewhere the answer has it.
             * @default false
             */
            browser?: boolean;
            /**
             * Current Password
             * @description Left out where the account has none yet, as that of somebody who came by a sign-in link.
             */
            current_password?: string | null;
            /**
             * New Password
             * @description The password from now on.
             */
            new_password: string;
        };
        /** PauseRequest */
        PauseRequest: {
            /**
             * For Seconds
             * @description How long; null until it is ended.
             */
            for_seconds?: number | null;
        };
        /** PaymentActions */
        PaymentActions: {
            /** @description Forget the saved card: `DELETE wallet/card`. */
            forget_card: components["schemas"]["ActionView"];
            /** @description Type in a voucher's code: `POST wallet/vouchers`. */
            redeem_voucher: components["schemas"]["ActionView"];
            /** @description Leave a card for later: `POST wallet/card`. */
            save_card: components["schemas"]["ActionView"];
            /** @description Let the saved card be charged by itself: `PUT wallet/plan`. */
            set_plan: components["schemas"]["ActionView"];
            /** @description Buy credits: `POST wallet/top-ups`. */
            top_up: components["schemas"]["ActionView"];
        };
        /**
         * PaymentView
         * @description One entry of the ledger, from the viewer's side.
         */
        PaymentView: {
            /**
             * At
             * Format: date-time
             * @description When it happened.
             */
            at: string;
            /**
             * Change Micros
             * @description What the viewer has more or less afterwards.
             */
            change_micros: number;
            /**
             * Check Id
             * @description The check of results that is behind it.
             */
            check_id: string | null;
            /**
             * Cost Micros
             * @description What the time costs, fee included. Below zero where it is given back.
             */
            cost_micros: number;
            /**
             * Earned Micros
             * @description Of that, the host's.
             */
            earned_micros: number;
            /**
             * Entry Id
             * @description The id of the ledger's entry.
             */
            entry_id: string;
            /**
             * Fee Micros
             * @description Of that, the platform's.
             */
            fee_micros: number;
            /**
             * Kind
             * @description What kind it is.
             * @enum {string}
             */
            kind: "grant" | "withdrawal" | "welcome" | "voucher" | "hold" | "settle" | "give_back" | "clawback" | "clawback_overturned" | "restitution" | "dispute_refund" | "dispute_refund_undone" | "storage" | "debt_filled" | "write_off" | "write_off_returned" | "top_up" | "refund_asked" | "refund" | "refund_failed" | "chargeback" | "chargeback_won" | "cash_out" | "cash_out_returned" | "pay_out";
            /**
             * Note
             * @description What the person who did it wrote.
             * @default
             */
            note: string;
            /**
             * Pockets
             * @description By pocket of the viewer's, the same.
             */
            pockets: {
                [key: string]: number;
            };
            /**
             * Rule
             * @description In words, why so much is paid.
             */
            rule: string;
            /** @description How long. */
            seconds: components["schemas"]["SecondsView"] | null;
            /**
             * Steps
             * @description The calculation, step by step.
             */
            steps: components["schemas"]["Step"][];
            /**
             * Title
             * @description What kind of entry it is, in words.
             */
            title: string;
            /** @description None for an instalment, and for what came later. */
            verdict: components["schemas"]["Verdict"] | null;
        };
        /** PaymentsView */
        PaymentsView: {
            /** @description What the caller may do. */
            actions: components["schemas"]["PaymentActions"];
            /**
             * Card
             * @description What the hub knows of it: its kind and last digits.
             */
            card: string | null;
            /**
             * Credit Value
             * @description What one credit is worth in the currency.
             */
            credit_value: string;
            /**
             * Currency
             * @description The currency, as three letters.
             */
            currency: string;
            /**
             * Message
             * @description The state in words, for people.
             */
            message: string;
            /** @description Where earnings are paid to. */
            payout_account: components["schemas"]["PayoutAccountView"];
            /** @description When the saved card is charged by itself. */
            plan: components["schemas"]["PlanView"];
            /**
             * Provider
             * @description Who takes payments: `stripe`, or `manual` for an operator.
             */
            provider: string;
        };
        /** PayoutAccountActions */
        PayoutAccountActions: {
            /** @description Say where money goes, or what is missing: `POST wallet/payout-account`. */
            begin: components["schemas"]["ActionView"];
        };
        /** PayoutAccountView */
        PayoutAccountView: {
            /** @description What the host may do. */
            actions: components["schemas"]["PayoutAccountActions"];
            /**
             * Message
             * @description The state in words, for people.
             */
            message: string;
            /**
             * State
             * @description In which state it is.
             * @enum {string}
             */
            state: "none" | "pending" | "incomplete" | "checking" | "ready" | "restricted" | "gone" | "by_hand";
            /**
             * Url
             * @description Where the host fills in what the processor wants to know; good for a few minutes.
             */
            url: string | null;
        };
        /**
         * Plan
         * @enum {string}
         */
        Plan: "none" | "automatic" | "per_job";
        /** PlanRequest */
        PlanRequest: {
            /**
             * Amount
             * @description automatic: how much. per_job: at least so much at once.
             * @default 0
             */
            amount?: string | number;
            /**
             * Below
             * @description automatic: charge when fewer credits than this are left.
             * @default 0
             */
            below?: string | number;
            /**
             * Monthly
             * @description The most that is charged by itself in a month.
             * @default 0
             */
            monthly?: string | number;
            /** @description When the saved card is charged by itself. */
            plan: components["schemas"]["Plan"];
        };
        /** PlanView */
        PlanView: {
            /**
             * Amount Micros
             * @description How much, in micro-credits.
             */
            amount_micros: number;
            /**
             * Below Micros
             * @description The balance below which a card is charged.
             */
            below_micros: number;
            /**
             * Monthly Micros
             * @description The most in a month.
             */
            monthly_micros: number;
            /** @description When the saved card is charged by itself. */
            plan: components["schemas"]["Plan"];
            /**
             * Stopped
             * @description Why nothing is charged by itself any more.
             */
            stopped: string | null;
        };
        /**
         * PolicyEdit
         * @description New values; what is left out stays.
         */
        PolicyEdit: {
            /**
             * After Idle
             * @description How long keyboard and mouse have to be still before strangers' work starts, such as `15m`.
             */
            after_idle?: string | null;
            /**
             * During Full Screen
             * @description Whether it may run while a program fills the screen.
             */
            during_full_screen?: boolean | null;
            /**
             * Hours
             * @description When strangers' work is welcome, in the machine's local time, such as `mon-fri 22:00-07:00, sat-sun`.
             */
            hours?: string | null;
            /**
             * Typing Over Ssh
             * @description Whether typing in a terminal counts as using the keyboard.
             */
            typing_over_ssh?: boolean | null;
        };
        /** PolicySettingView */
        PolicySettingView: {
            /**
             * Default
             * @description null where the default is another setting's value, as for one GPU.
             */
            default: boolean | number | string | string[] | null;
            /** @description Whether it can be changed here. */
            edit: components["schemas"]["ActionView"];
            /**
             * Key
             * @description Such as `start.hours`.
             */
            key: string;
            /**
             * Meaning
             * @description What it decides, in a sentence or two.
             */
            meaning: string;
            /**
             * Value
             * @description As the machine has it now.
             */
            value: boolean | number | string | string[];
        };
        /**
         * PoolSeries
         * @description Figures of the pool, one sample a minute; waiting and start latency have one sample for each slice.
         */
        PoolSeries: {
            /**
             * Columns
             * @description The metrics that have at least one sample in this time.
             */
            columns: components["schemas"]["SeriesColumn"][];
            /**
             * Points
             * @description How many numbers each column has.
             */
            points: number;
            /**
             * Start At
             * Format: date-time
             * @description When the first point begins.
             */
            start_at: string;
            /**
             * Step Seconds
             * @description How long each point is: what was asked for, or more.
             */
            step_seconds: number;
        };
        /** PreviewLine */
        PreviewLine: {
            /**
             * After
             * @description As it would be.
             */
            after: string;
            /**
             * Before
             * @description As it is now.
             */
            before: string;
            /**
             * Label
             * @description What is compared.
             */
            label: string;
        };
        /**
         * PriceBarView
         * @description How many offers have a price in this span.
         */
        PriceBarView: {
            /**
             * From Micros
             * @description From this price on.
             */
            from_micros: number;
            /**
             * Offers
             * @description How many offers have such a price.
             */
            offers: number;
            /**
             * To Micros
             * @description Up to this price; itself included in the last bar alone.
             */
            to_micros: number;
        };
        /**
         * PriceBasis
         * @description How the price of an hour came about. What does not count for it is left out.
         */
        PriceBasis: {
            /**
             * Ask Micros
             * @description What the node asked for an hour of one.
             */
            ask_micros?: number | null;
            /**
             * Base Micros
             * @description What an hour of the reference card costs.
             */
            base_micros?: number | null;
            /**
             * Cpu Millis
             * @description Thousandths of a core.
             */
            cpu_millis?: number | null;
            /**
             * Fixed Micros
             * @description A price that does not move; null where the pool's suggestion counts.
             */
            fixed_micros?: number | null;
            /**
             * Floor Micros
             * @description The least that an hour may cost; null for no floor.
             */
            floor_micros?: number | null;
            /**
             * Gpus
             * @description How many GPUs.
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
             */
            preemptible_percent?: number | null;
            /**
             * Region
             * @description The region of the market.
             */
            region?: string | null;
            /**
             * Region Millis
             * @description The factor of the region, in thousandths.
             */
            region_millis?: number | null;
            /**
             * Spot Millis
             * @description The factor of demand, in thousandths.
             */
            spot_millis?: number | null;
            /**
             * Tier Millis
             * @description The factor of the card, in thousandths.
             */
            tier_millis?: number | null;
        };
        /**
         * PriceChange
         * @description The least that an hour costs, or exactly what it costs: one of the two. Micro-credits, fee included.
         */
        PriceChange: {
            /**
             * Fixed Micros
             * @description This, whatever the pool suggests.
             */
            fixed_micros?: number | null;
            /**
             * Floor Micros
             * @description Never below this; above it where the pool suggests more.
             */
            floor_micros?: number | null;
            /**
             * Per
             * @description An hour of what. By default of a GPU where the node has one, else of a core.
             */
            per?: ("gpu" | "core") | null;
        };
        /**
         * PriceHistory
         * @description Prices as they were suggested, fee included, from the pool's tables of that time.
         */
        PriceHistory: {
            /**
             * Is Cut
             * @description The oldest points are left out: ask for one tier or region, or a shorter time.
             */
            is_cut: boolean;
            /**
             * Items
             * @description One for each tier and region that has a price in this time.
             */
            items: components["schemas"]["PriceSeries"][];
            /**
             * Points
             * @description How many numbers each series has.
             */
            points: number;
            /**
             * Start At
             * Format: date-time
             * @description When the first point begins.
             */
            start_at: string;
            /**
             * Step Seconds
             * @description How long each point is: what was asked for, or more.
             */
            step_seconds: number;
        };
        /**
         * PricePreview
         * @description What an hour of one GPU, or of one core, would mean at a price. Nothing is changed.
         */
        PricePreview: {
            /**
             * Current Micros
             * @description What is asked for now.
             */
            current_micros: number;
            /** @description If it worked all day: the most that there is to earn at this price. */
            full_day: components["schemas"]["Earned"];
            /**
             * Histogram
             * @description The prices of the other comparable offers.
             */
            histogram: components["schemas"]["PriceBarView"][];
            /**
             * Node Id
             * @description The id of the node.
             */
            node_id: string;
            /**
             * Offers
             * @description How many comparable offers there would be, its own included: the same kind of card, or cores, in any region.
             */
            offers: number;
            /**
             * Per
             * @description An hour of what.
             * @enum {string}
             */
            per: "gpu" | "core";
            /** @description What the node would earn in a day at that utilisation, with all of its GPUs or cores; null without data. */
            per_day: components["schemas"]["Earned"] | null;
            /**
             * Price Micros
             * @description The price that this is about, fee included.
             */
            price_micros: number;
            /**
             * Rank
             * @description Where the node would stand among comparable offers, 1 for the cheapest.
             */
            rank: number;
            /**
             * Suggested Micros
             * @description What the pool suggests now.
             */
            suggested_micros: number;
            /**
             * Utilisation
             * @description The share of the last week that such cards, or cores, were in use, whatever they cost; null without data.
             */
            utilisation: number | null;
            /**
             * Utilisation Basis
             * @description Where the figure comes from.
             * @enum {string}
             */
            utilisation_basis: "measured" | "measured elsewhere" | "assumed" | "no data";
            /**
             * Words
             * @description Such as `7th of 12`.
             */
            words: string;
        };
        /** PriceRow */
        PriceRow: {
            /**
             * Cards
             * @description Those that the table puts there.
             */
            cards: string[];
            /**
             * Per
             * @description gpu or core: an hour of what.
             * @enum {string}
             */
            per: "gpu" | "core";
            /**
             * Region
             * @description The region of the market.
             */
            region: string;
            /**
             * Simulated
             * @description It only pretends to compute: no real hardware.
             */
            simulated: boolean;
            /**
             * Spot
             * @description The factor by which demand moves the price now.
             */
            spot: number;
            /**
             * Suggested Micros
             * @description What the pool suggests for an hour.
             */
            suggested_micros: number;
            /**
             * Tier
             * @description `cpu`, or the multiplier of a kind of card.
             */
            tier: string;
            /**
             * Units
             * @description GPUs, or cores, that are there now.
             */
            units: number;
            /**
             * Utilisation
             * @description In use now; None where there is nothing of the kind.
             */
            utilisation: number | null;
        };
        /**
         * PriceSeries
         * @description The suggested price of one kind of card, or of a core, in one region.
         */
        PriceSeries: {
            /**
             * Average Micros
             * @description The mean price of each point; null where there is none.
             */
            average_micros: (number | null)[];
            /**
             * Maximum Micros
             * @description The greatest price of each point; null where there is none.
             */
            maximum_micros: (number | null)[];
            /**
             * Minimum Micros
             * @description The least price of each point; null where there is none.
             */
            minimum_micros: (number | null)[];
            /**
             * Per
             * @description An hour of what: `gpu` or `core`.
             * @enum {string}
             */
            per: "gpu" | "core";
            /**
             * Region
             * @description The region.
             */
            region: string;
            /**
             * Tier
             * @description `cpu`, or the multiplier of a kind of card.
             */
            tier: string;
            /**
             * Utilisation
             * @description The share in use, on average; null where it is not known.
             */
            utilisation: (number | null)[];
        };
        /**
         * PriceView
         * @description What the host decided.
         */
        PriceView: {
            /**
             * Fixed Micros
             * @description A price that does not move; null where the pool's suggestion counts.
             */
            fixed_micros: number | null;
            /**
             * Floor Micros
             * @description The least that an hour may cost; null for no floor.
             */
            floor_micros: number | null;
            /**
             * Per
             * @description An hour of what: a GPU or a core.
             * @enum {string}
             */
            per: "gpu" | "core";
        };
        /** Prices */
        Prices: {
            /**
             * Base Micros
             * @description What an hour of the reference card costs.
             */
            base_micros: number;
            /**
             * Fee Bps
             * @description The platform's fee, in hundredths of a percent.
             */
            fee_bps: number;
            /**
             * History
             * @description Where it was asked for: the oldest first.
             */
            history: components["schemas"]["SpotView"][];
            /**
             * History Cut
             * @description There is more of it: only the newest are shown. One tier or one region alone, or a shorter time, has less.
             * @default false
             */
            history_cut: boolean;
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["PriceRow"][];
            /**
             * Preemptible Percent
             * @description Of a price, what a slice pays that may lose its slot.
             */
            preemptible_percent: number;
            /**
             * Regions
             * @description The factor of each, and of everything elsewhere.
             */
            regions: {
                [key: string]: number;
            };
            /**
             * Spot Least
             * @description The least that the factor of demand may be.
             */
            spot_least: number;
            /**
             * Spot Most
             * @description The most that the factor of demand may be.
             */
            spot_most: number;
        };
        /** ProcessorEvent */
        ProcessorEvent: {
            /**
             * About
             * @description The object that it is about.
             */
            about: string | null;
            /**
             * Ended At
             * @description When it came to its end; null before.
             */
            ended_at: string | null;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Message
             * @description The state in words, for people.
             */
            message: string;
            /**
             * Received At
             * Format: date-time
             * @description When the hub received it.
             */
            received_at: string;
            /** @description In which state it is. */
            state: components["schemas"]["EventState"];
            /**
             * Tries
             * @description How often it was tried.
             */
            tries: number;
            /**
             * Type
             * @description What kind it is, in the sender's words.
             */
            type: string;
        };
        /**
         * PublicBenchmark
         * @description What the hub measured.
         */
        PublicBenchmark: {
            /**
             * Cpu Gflops
             * @description Billions of operations a second of all its cores, as the hub measured it.
             */
            cpu_gflops: number | null;
            /**
             * Mark
             * @description Whether the node is as fast as its cards are.
             * @enum {string}
             */
            mark: "unverified" | "matches" | "too_slow" | "too_fast" | "failed";
            /**
             * Measured At
             * @description When it was measured; null before.
             */
            measured_at: string | null;
            /**
             * Tier
             * @description The multiplier of its price.
             */
            tier: number | null;
            /**
             * Tier Basis
             * @description Whether the tier is the card's, was measured, or is only claimed.
             */
            tier_basis: ("card" | "measured" | "claimed") | null;
        };
        /**
         * PublicCard
         * @description A GPU of a node.
         */
        PublicCard: {
            /**
             * Architecture
             * @description Such as `8.9` (compute capability) or `gfx1100`.
             */
            architecture: string;
            /**
             * Driver
             * @description The version of the driver.
             */
            driver: string;
            /**
             * Gflops
             * @description Billions of operations a second, as the hub measured it; null before it did.
             */
            gflops: number | null;
            /**
             * Memory Bytes
             * @description Memory, in bytes.
             */
            memory_bytes: number;
            /**
             * Name
             * @description Its name.
             */
            name: string;
            /**
             * Runtime
             * @description The newest that its driver can run, such as `cuda 12.4`.
             */
            runtime: string;
            /**
             * Slug
             * @description The short name of the card, such as `rtx-4090`.
             */
            slug: string;
            /**
             * Vendor
             * @description nvidia, amd, intel or apple.
             */
            vendor: string;
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
            /**
             * Gpu
             * @description The name of the card.
             */
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
         * PublicJob
         * @description What everybody may know of a shared job.
         */
        PublicJob: {
            /**
             * Created At
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Exit Code
             * @description What the command returned; null where it did not come to that.
             */
            exit_code: number | null;
            /**
             * Finished At
             * @description When it ended; null before.
             */
            finished_at: string | null;
            /**
             * Legend
             * @description What the letters mean.
             */
            legend: components["schemas"]["GridKey"][];
            /**
             * Name
             * @description As its spec names it; null where it does not: such a name is made of the command.
             */
            name: string | null;
            /** @description How far its slices are. */
            progress: components["schemas"]["JobProgress"];
            /**
             * Reason
             * @description Why: a word that stays the same for the same cause.
             */
            reason: components["schemas"]["AttemptReason"] | null;
            /**
             * Resources
             * @description What a slice asks for, in words.
             */
            resources: string;
            /**
             * Simulated
             * @description It runs on simulated nodes alone: nothing of it is really run.
             */
            simulated: boolean;
            /**
             * Slices
             * @description One letter for each slice, in order.
             */
            slices: string;
            /**
             * Started At
             * @description When it began to run; null before.
             */
            started_at: string | null;
            /** @description In which state it is. */
            state: components["schemas"]["JobState"];
            /** @description Whose doing the end was; null before. */
            verdict: components["schemas"]["Verdict"] | null;
        };
        /**
         * PublicPriceNow
         * @description In millionths of a credit, fee included.
         */
        PublicPriceNow: {
            /**
             * Core Price Micros
             * @description For an hour of one core, where no GPU is asked for.
             */
            core_price_micros: number;
            /**
             * Per
             * @description gpu or core: an hour of what.
             * @enum {string}
             */
            per: "gpu" | "core";
            /**
             * Per Tflops Micros
             * @description For an hour of one measured teraflop a second; null for a node that was not measured.
             */
            per_tflops_micros: number | null;
            /**
             * Price Micros
             * @description What strangers pay for an hour.
             */
            price_micros: number;
            /**
             * Suggested Micros
             * @description What the pool suggests there.
             */
            suggested_micros: number;
        };
        /**
         * PublicRecord
         * @description What is known of a node's past.
         */
        PublicRecord: {
            /** @description Results of it that were computed again by others. */
            audited: components["schemas"]["Audited"];
            /**
             * First Seen
             * Format: date
             * @description The day on which it joined.
             */
            first_seen: string;
            /**
             * Has Record
             * @description False for a node that nobody can say much of yet.
             */
            has_record: boolean;
            /**
             * Lower
             * @description The 5 % lower bound of it: what nodes are ranked by.
             */
            lower: number;
            /**
             * Mean
             * @description Its reliability, from 0 to 1.
             */
            mean: number;
            /**
             * Ok Attempts
             * @description For others, ever.
             */
            ok_attempts: number;
            /**
             * Quarantined Until
             * @description Until when it gets no work of others; null where it gets some.
             */
            quarantined_until: string | null;
            /**
             * Tenure Days
             * @description For how many days it has been part of the pool.
             */
            tenure_days: number;
            /**
             * Uptime
             * @description By day, the oldest first.
             */
            uptime: components["schemas"]["UptimeDay"][];
            /**
             * Uptime 30D
             * @description Of the last 30 days, or of its life if that is shorter: how much of it the node was connected.
             */
            uptime_30d: number;
            /**
             * Verified
             * @description It has earned the trust that `where.trust: verified` asks for.
             */
            verified: boolean;
        };
        /** PublicStats */
        PublicStats: {
            /**
             * Counted At
             * @description When jobs, hours and earnings were counted; null until they were.
             */
            counted_at: string | null;
            /**
             * Countries
             * @description Where real nodes are that can be reached now.
             * @default 0
             */
            countries: number;
            /**
             * Cpus Free
             * @description Cores that are not in use.
             */
            cpus_free: number;
            /**
             * Cpus Total
             * @description Cores of the nodes that are online.
             */
            cpus_total: number;
            /**
             * Earned By Hosts Micros
             * @description What hosts of real nodes ever earned with others' jobs; null in a pool without money.
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
             */
            gpu_prices: components["schemas"]["PublicGpuPrice"][] | null;
            /**
             * Gpus Free
             * @description Cards that are not in use.
             */
            gpus_free: number;
            /**
             * Gpus Total
             * @description Cards of the nodes that are online.
             */
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
            /**
             * Memory Bytes Total
             * @description Memory of the nodes that are online, in bytes.
             */
            memory_bytes_total: number;
            /**
             * Nodes Online
             * @description Nodes that take work now.
             */
            nodes_online: number;
            /**
             * Nodes Simulated
             * @description Simulated nodes.
             */
            nodes_simulated: number;
            /**
             * Nodes Total
             * @description All nodes of the pool.
             */
            nodes_total: number;
            /**
             * Paid To Hosts Micros
             * @description Of what hosts earned, what was paid out to them; null in a pool without money.
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
            /**
             * Slices Queued
             * @description Slices that wait.
             */
            slices_queued: number;
            /**
             * Slices Running
             * @description Slices that run.
             */
            slices_running: number;
            /**
             * Uptime Seconds
             * @description Since the hub started.
             */
            uptime_seconds: number;
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
        /**
         * QueueItem
         * @description Something that waits for an operator.
         */
        QueueItem: {
            /**
             * Actions
             * @description What an admin may do about it, by name.
             */
            actions: {
                [key: string]: components["schemas"]["ActionView"];
            };
            /**
             * Amount Micros
             * @description What it is about, in millionths of a credit; null where it is about no amount.
             */
            amount_micros: number | null;
            /**
             * Detail
             * @description What the person said who asked for it, or what was found; may be empty.
             */
            detail: string;
            /**
             * Id
             * @description Its id, among those of its kind.
             */
            id: string;
            /**
             * @description What it is: a ledger that does not add up, a dispute, a cash-out, an accusation, a contest, a difference to the
             *     payment processor, a mail that was given up, or a country that is in no region.
             */
            kind: components["schemas"]["QueueKind"];
            /**
             * Owner Email
             * @description The e-mail address of that user.
             */
            owner_email: string | null;
            /**
             * Owner Id
             * @description Whom it concerns; null for nobody in particular.
             */
            owner_id: string | null;
            /**
             * Path
             * @description Where the API has more about it.
             */
            path: string;
            /**
             * Since
             * @description Since when it waits; null where that is not known.
             */
            since: string | null;
            /**
             * Title
             * @description What it is, in one sentence.
             */
            title: string;
        };
        /**
         * QueueKind
         * @enum {string}
         */
        QueueKind: "ledger" | "dispute" | "cash_out" | "accusation" | "contest" | "payment_difference" | "mail" | "country";
        /** QueuePage */
        QueuePage: {
            /**
             * Counts
             * @description How many wait, of each kind, whatever was asked for.
             */
            counts: {
                [key: string]: number;
            };
            /**
             * Items
             * @description The longest waiting first.
             */
            items: components["schemas"]["QueueItem"][];
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
            /**
             * Total
             * @description How many wait in all.
             */
            total: number;
        };
        /** Quote */
        Quote: {
            /** @description What the caller may do with it. */
            actions: components["schemas"]["QuoteActions"];
            /** @description What a slice gets on every node. `nodes` tell what it would get there, where the spec leaves that open. */
            at_least: components["schemas"]["SliceAmounts"];
            /**
             * At Most Micros
             * @description If every slice ran for the whole of its time at the ceiling; and not more than the spec's budget.
             */
            at_most_micros: number | null;
            /** @description Whether a slice could begin now, by nodes, limits and wallet. */
            begin: components["schemas"]["BeginVerdict"];
            /**
             * Begin Micros
             * @description What a budget has to be for one slice to begin at the price of now: with less, the job would fail at once.
             */
            begin_micros: number | null;
            /**
             * Ceiling Basis
             * @description Where the ceiling comes from.
             */
            ceiling_basis: ("spec" | "quote" | "list" | "own") | null;
            /**
             * Ceiling Micros
             * @description No slice-hour costs more.
             */
            ceiling_micros: number | null;
            /**
             * Cost
             * @description What the price is made of, line by line; null without money.
             */
            cost: components["schemas"]["CostLine"][] | null;
            /**
             * Elsewhere Micros
             * @description On the best node of somebody else; None if none would do, or the caller wants their own alone.
             */
            elsewhere_micros: number | null;
            /**
             * Feasible
             * @description Nodes that could run a slice at some time.
             */
            feasible: number;
            /**
             * Free Now
             * @description How many could begin at once.
             */
            free_now: number;
            /**
             * Gates
             * @description How many nodes each gate removed, in their order.
             */
            gates: components["schemas"]["GateCount"][];
            /**
             * Input Bytes
             * @description What the stored inputs have together, in bytes.
             */
            input_bytes: number;
            /**
             * Max Runtime Seconds
             * @description The longest that one attempt may run.
             */
            max_runtime_seconds: number;
            /**
             * Nodes
             * @description The best few.
             */
            nodes: components["schemas"]["NodePrice"][];
            /**
             * Nodes Total
             * @description All nodes of the pool.
             */
            nodes_total: number;
            /**
             * Now Micros
             * @description If every slice ran for the whole of its time at the price of now: each on the node that it would go to, and those
             *     for which there is no room now at the dearest of these prices.
             */
            now_micros: number | null;
            /**
             * Own
             * @description It would go to a node of the caller's own, and cost nothing.
             */
            own: boolean;
            /**
             * Price Micros
             * @description Of one slice-hour now, on the node that it would go to; None if no node would do.
             */
            price_micros: number | null;
            /**
             * Relaxations
             * @description Changes of the spec that would find a node, the smallest first; only where none is free.
             */
            relaxations: components["schemas"]["RelaxationView"][];
            /**
             * Slices
             * @description How many slices.
             */
            slices: number;
            /**
             * Slices Now
             * @description Slices for which there is room now, at least.
             */
            slices_now: number;
            /**
             * Start
             * @description When it starts, in words, where that can be known; null where it depends on others.
             */
            start: string | null;
            /**
             * Suggestions
             * @description The words of the relaxations.
             */
            suggestions: string[];
            /**
             * Summary
             * @description Where it could run, in one sentence.
             */
            summary: string;
        };
        /** QuoteActions */
        QuoteActions: {
            /** @description Submit this job. One that cannot begin yet may be submitted all the same, and waits. */
            submit: components["schemas"]["ActionView"];
        };
        /**
         * Rates
         * @description What an hour of a card of tier 1 costs in a region of factor 1, between which factors spot moves, and how much of
         *     a price is paid for a slot that may be lost.
         */
        Rates: {
            /**
             * Base Micros
             * @description What an hour of the reference card costs.
             * @default 10000000
             */
            base_micros: number;
            /**
             * Preemptible Percent
             * @description Of a price, what a slice pays that may lose its slot.
             * @default 70
             */
            preemptible_percent: number;
            /**
             * Spot Least Millis
             * @description The least that the factor of demand may be, in thousandths.
             * @default 500
             */
            spot_least_millis: number;
            /**
             * Spot Most Millis
             * @description The most that the factor of demand may be, in thousandths.
             * @default 2000
             */
            spot_most_millis: number;
        };
        /**
         * RatesInput
         * @description What an hour of a card of tier 1 costs in a region of factor 1, between which factors spot moves, and how much of
         *     a price is paid for a slot that may be lost.
         */
        RatesInput: {
            /**
             * Base Micros
             * @description What an hour of the reference card costs.
             * @default 10000000
             */
            base_micros?: number;
            /**
             * Preemptible Percent
             * @description Of a price, what a slice pays that may lose its slot.
             * @default 70
             */
            preemptible_percent?: number;
            /**
             * Spot Least Millis
             * @description The least that the factor of demand may be, in thousandths.
             * @default 500
             */
            spot_least_millis?: number;
            /**
             * Spot Most Millis
             * @description The most that the factor of demand may be, in thousandths.
             * @default 2000
             */
            spot_most_millis?: number;
        };
        /**
         * ReadNotices
         * @description Which notices were read: some, or all.
         */
        ReadNotices: {
            /**
             * All
             * @description Every one.
             * @default false
             */
            all?: boolean;
            /**
             * Ids
             * @description These.
             */
            ids?: number[] | null;
        };
        /** Receipt */
        Receipt: {
            /**
             * Attempt Id
             * @description The id of the attempt.
             */
            attempt_id: string;
            /**
             * Detail
             * @description More about it, for people.
             * @default
             */
            detail: string;
            /**
             * Exit Code
             * @description None when the command never started.
             */
            exit_code: number | null;
            /**
             * Fence
             * @description The number that proves that this attempt is the current one of its slice.
             */
            fence: number;
            /**
             * Finished At
             * Format: date-time
             * @description When it ended; null before.
             */
            finished_at: string;
            /**
             * Image Digest
             * @description Of the image that it ran in.
             */
            image_digest: string | null;
            /** @description None when the command never started. */
            isolation: components["schemas"]["IsolationLevel"] | null;
            /**
             * Job Id
             * @description The id of the job.
             */
            job_id: string;
            /**
             * Log Bytes
             * @description The size of the log, known when the attempt has ended.
             */
            log_bytes: number;
            /**
             * Log Digest
             * @description Of the whole log.
             */
            log_digest: string;
            /**
             * Manifest Digest
             * @description Of the manifest that it was given.
             */
            manifest_digest: string;
            /**
             * Node Id
             * @description The id of the node.
             */
            node_id: string;
            /**
             * Outputs
             * @description The files that it left.
             * @default []
             */
            outputs: components["schemas"]["OutputRef"][];
            /** @description Why: a word that stays the same for the same cause. */
            reason: components["schemas"]["EndReason"];
            /**
             * Spec Digest
             * @description Of the spec, in its canonical form.
             */
            spec_digest: string;
            /**
             * Started At
             * @description When it began to run; null before.
             */
            started_at: string | null;
            /** @description What it used. */
            usage: components["schemas"]["Usage"];
            /**
             * Version
             * @description The version.
             * @default 1
             */
            version: number;
        };
        /** ReceiptNode */
        ReceiptNode: {
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Key Ended At
             * @description When the node replaced it; orders from after that cannot be answered with it.
             */
            key_ended_at: string | null;
            /**
             * Name
             * @description Its name.
             */
            name: string;
            /**
             * Sign Key
             * @description The key that signed the receipt, also if the node has another by now.
             */
            sign_key: string;
        };
        /** ReceiptPage */
        ReceiptPage: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["ReceiptView"][];
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
        };
        /** ReceiptView */
        ReceiptView: {
            /**
             * Attempt
             * @description The number of the attempt, counted from 1.
             */
            attempt: number;
            /**
             * Attempt Id
             * @description The id of the attempt.
             */
            attempt_id: string;
            /**
             * Hub Keys
             * @description The hub's public keys, to check the signatures with.
             */
            hub_keys: components["schemas"]["HubKey"][];
            /** @description Where this one was proven wrong, or outvoted: whose outputs are the slice's instead. */
            instead: components["schemas"]["InsteadView"] | null;
            /** @description What the hub signed: the work, as the node got it. */
            manifest: components["schemas"]["Signed"];
            /** @description The node. */
            node: components["schemas"]["ReceiptNode"];
            /** @description What the node signed: what it ran and what came of it. */
            receipt: components["schemas"]["Signed"];
            /**
             * Slice
             * @description The number of the slice, counted from 0.
             */
            slice: number;
            /** @description In which state it is. */
            state: components["schemas"]["AttemptState"];
            /** @description Whose doing the end was; null before. */
            verdict: components["schemas"]["Verdict"] | null;
        };
        /** ReconciledView */
        ReconciledView: {
            /**
             * Bytes
             * @description In bytes.
             */
            bytes: number;
            /**
             * Counted Bytes
             * @description As it was counted before.
             */
            counted_bytes: number;
            /**
             * Counted Objects
             * @description How many objects were counted.
             */
            counted_objects: number;
            /**
             * Objects
             * @description How many objects.
             */
            objects: number;
            /**
             * Owner Id
             * @description The user or team that it belongs to.
             */
            owner_id: string;
        };
        /** ReconciliationView */
        ReconciliationView: {
            /**
             * Compared
             * @description How many payments were compared.
             */
            compared: number;
            /**
             * Differences
             * @description How many differences were found.
             */
            differences: number;
            /**
             * Made At
             * Format: date-time
             * @description When it was made.
             */
            made_at: string;
            /**
             * Since
             * Format: date-time
             * @description The beginning of the time that this is about.
             */
            since: string;
            /**
             * Until
             * Format: date-time
             * @description The end of the time that this is about.
             */
            until: string;
        };
        /**
         * RecordView
         * @description From the audit log.
         */
        RecordView: {
            /**
             * Action
             * @description What was recorded, such as `attempt.leased`.
             */
            action: string;
            /**
             * At
             * Format: date-time
             * @description When it happened.
             */
            at: string;
            /**
             * Id
             * @description Its id.
             */
            id: number;
        };
        /** Redeemed */
        Redeemed: {
            /**
             * Credits
             * @description How much, in credits.
             */
            credits: string;
            /**
             * Micros
             * @description How much, in micro-credits.
             */
            micros: number;
            /**
             * Promotional Micros
             * @description All that one has of the kind: spent first, and never cashed out.
             */
            promotional_micros: number;
        };
        /** Redeeming */
        Redeeming: {
            /**
             * Code
             * @description The code, as it was typed.
             */
            code: string;
        };
        /** RedemptionList */
        RedemptionList: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["RedemptionView"][];
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
            /**
             * Total
             * @description How many match in all; null for more than 10,000.
             */
            total: number | null;
        };
        /** RedemptionView */
        RedemptionView: {
            /**
             * Email
             * @description Of the user.
             */
            email: string | null;
            /**
             * Redeemed At
             * Format: date-time
             * @description When.
             */
            redeemed_at: string;
            /**
             * User Id
             * @description The id of the user.
             */
            user_id: string;
        };
        /** RefreshRequest */
        RefreshRequest: {
            /**
             * Browser
             * @description The session is a browser's: where the hub has an https address and the request comes from its own page, the
             *     refresh token is set as a cookie and is null in the answer. Elsewhere the answer has it.
             * @default false
             */
            browser?: boolean;
            /**
             * Refresh Token
             * @description Left out: the one in the browser's cookie.
             */
            refresh_token?: string | null;
        };
        /** RefundRequest */
        RefundRequest: {
            /**
             * Credits
             * @description How much, in credits.
             */
            credits: string | number;
            /**
             * Note
             * @description What the person who did it wrote.
             */
            note: string;
        };
        /** RefundView */
        RefundView: {
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Message
             * @description The state in words, for people.
             */
            message: string;
            /**
             * Micros
             * @description How much, in micro-credits.
             */
            micros: number;
            /** @description In which state it is. */
            state: components["schemas"]["RequestState"];
            /**
             * Top Up Id
             * @description The id of the top-up.
             */
            top_up_id: string;
        };
        /** Region */
        Region: {
            /**
             * Countries
             * @description As two letters of ISO 3166.
             */
            countries: string[];
            /**
             * Factor Millis
             * @description The factor of prices, in thousandths.
             */
            factor_millis: number;
            /**
             * Name
             * @description Its name.
             */
            name: string;
        };
        /**
         * Regions
         * @description Sets of countries with the factor of what money buys there. A country that is in none has the factor 1.
         */
        Regions: {
            /**
             * Items
             * @description What was found, on this page.
             * @default [
             *       {
             *         "countries": [
             *           "IN"
             *         ],
             *         "factor_millis": 700,
             *         "name": "IN"
             *       },
             *       {
             *         "countries": [
             *           "AT",
             *           "BE",
             *           "BG",
             *           "CY",
             *           "CZ",
             *           "DE",
             *           "DK",
             *           "EE",
             *           "ES",
             *           "FI",
             *           "FR",
             *           "GR",
             *           "HR",
             *           "HU",
             *           "IE",
             *           "IT",
             *           "LT",
             *           "LU",
             *           "LV",
             *           "MT",
             *           "NL",
             *           "PL",
             *           "PT",
             *           "RO",
             *           "SE",
             *           "SI",
             *           "SK"
             *         ],
             *         "factor_millis": 950,
             *         "name": "EU"
             *       },
             *       {
             *         "countries": [
             *           "US"
             *         ],
             *         "factor_millis": 1000,
             *         "name": "US"
             *       },
             *       {
             *         "countries": [
             *           "GB"
             *         ],
             *         "factor_millis": 1000,
             *         "name": "GB"
             *       }
             *     ]
             */
            items: components["schemas"]["Region"][];
        };
        /** RegionsFile */
        RegionsFile: {
            /**
             * Csv
             * @description Lines of `country,factor` or `country,factor,region`.
             */
            csv: string;
            /**
             * Replace
             * @description Forget the regions that there are; else what the file does not name stays.
             * @default false
             */
            replace?: boolean;
        };
        /**
         * RegionsInput
         * @description Sets of countries with the factor of what money buys there. A country that is in none has the factor 1.
         */
        RegionsInput: {
            /**
             * Items
             * @description What was found, on this page.
             * @default [
             *       {
             *         "countries": [
             *           "IN"
             *         ],
             *         "factor_millis": 700,
             *         "name": "IN"
             *       },
             *       {
             *         "countries": [
             *           "AT",
             *           "BE",
             *           "BG",
             *           "CY",
             *           "CZ",
             *           "DE",
             *           "DK",
             *           "EE",
             *           "ES",
             *           "FI",
             *           "FR",
             *           "GR",
             *           "HR",
             *           "HU",
             *           "IE",
             *           "IT",
             *           "LT",
             *           "LU",
             *           "LV",
             *           "MT",
             *           "NL",
             *           "PL",
             *           "PT",
             *           "RO",
             *           "SE",
             *           "SI",
             *           "SK"
             *         ],
             *         "factor_millis": 950,
             *         "name": "EU"
             *       },
             *       {
             *         "countries": [
             *           "US"
             *         ],
             *         "factor_millis": 1000,
             *         "name": "US"
             *       },
             *       {
             *         "countries": [
             *           "GB"
             *         ],
             *         "factor_millis": 1000,
             *         "name": "GB"
             *       }
             *     ]
             */
            items?: components["schemas"]["Region"][];
        };
        /** RegisterRequest */
        RegisterRequest: {
            /**
             * Browser
             * @description The session is a browser's: where the hub has an https address and the request comes from its own page, the
             *     refresh token is set as a cookie and is null in the answer. Elsewhere the answer has it.
             * @default false
             */
            browser?: boolean;
            /**
             * Country
             * @description As two letters of ISO 3166; null where it is not known.
             */
            country?: string | null;
            /**
             * Email
             * @description The e-mail address; null for a team.
             */
            email: string;
            /**
             * Name
             * @description Its name.
             */
            name: string;
            /**
             * Password
             * @description The password.
             */
            password: string;
        };
        /** Rejection */
        Rejection: {
            /**
             * Note
             * @description Why; the host reads it.
             */
            note: string;
        };
        /**
         * RelaxationView
         * @description One change of the spec that would find a node.
         */
        RelaxationView: {
            /**
             * Field
             * @description The key of the spec, such as `resources.memory`.
             */
            field: string;
            /**
             * Free Now
             * @description False if that node is busy, away, or in use by its owner.
             */
            free_now: boolean;
            /**
             * Value
             * @description What the field becomes, as a spec writes it; null where it is left out.
             */
            value: string | number | string[] | components["schemas"]["WireGpu"] | null;
            /**
             * Words
             * @description The same in words, for people.
             */
            words: string;
        };
        /** ReliabilityEvent */
        ReliabilityEvent: {
            /** @description What the reader may do about it. */
            actions: components["schemas"]["EventActions"];
            /**
             * At
             * Format: date-time
             * @description When it happened.
             */
            at: string;
            /**
             * Attempt Id
             * @description The id of the attempt.
             */
            attempt_id: string;
            /**
             * Contest Reason
             * @description What the node's owner says against it.
             */
            contest_reason: string | null;
            /**
             * Contested At
             * @description When the node's owner contested it.
             */
            contested_at: string | null;
            /**
             * Id
             * @description Its id.
             */
            id: number;
            /**
             * Node Id
             * @description The id of the node.
             */
            node_id: string;
            /** @description Why: a word that stays the same for the same cause. */
            reason: components["schemas"]["AttemptReason"];
            /**
             * Resolution
             * @description What became of it. `taken_back` and `upheld` undo it.
             */
            resolution: ("taken_back" | "upheld" | "dismissed") | null;
            /**
             * Resolution Note
             * @description What the operator wrote about the decision.
             */
            resolution_note: string | null;
            /**
             * Resolved At
             * @description When it was decided; null before.
             */
            resolved_at: string | null;
            /** @description Whose doing the end was; null before. */
            verdict: components["schemas"]["Verdict"];
            /**
             * Weight
             * @description How much it counts.
             */
            weight: number;
        };
        /** ReliabilityView */
        ReliabilityView: {
            /** @description Results of it that were computed again by others. */
            audited: components["schemas"]["Audited"];
            /**
             * Declined Until
             * @description It is offered no work of others before that, because it declined some.
             */
            declined_until: string | null;
            /**
             * Declines
             * @description Offers that it declined since the last attempt that was ok; those at the same time count once.
             */
            declines: number;
            /**
             * Failures In A Row
             * @description Attempts that failed by the node's doing since the last good one.
             */
            failures_in_a_row: number;
            /**
             * Has Record
             * @description False for a node that nobody can say much of yet.
             */
            has_record: boolean;
            /**
             * Lower
             * @description Its 5 % lower bound: what nodes are ranked by, and what `min_reliability` asks for.
             */
            lower: number;
            /**
             * Mean
             * @description What people are shown.
             */
            mean: number;
            /**
             * Missing For Verified
             * @description What is missing for that, in words.
             */
            missing_for_verified: string[];
            /**
             * Notice
             * @description Why it gets less work than it could.
             * @default
             */
            notice: string;
            /**
             * Ok Attempts
             * @description For others, ever.
             */
            ok_attempts: number;
            /**
             * Probed
             * @description Its quarantine is over; it gets one slice of others at a time until one is ok.
             */
            probed: boolean;
            /**
             * Quarantined Until
             * @description Until when it gets no work of others; null where it gets some.
             */
            quarantined_until: string | null;
            /**
             * Slots
             * @description Slices of others that it gets at once, if it broke with more; None for as many as it claims to hold.
             */
            slots: number | null;
            /**
             * Tenure Days
             * @description For how many days it has been part of the pool.
             */
            tenure_days: number;
            /**
             * Uptime 30D
             * @description The share of the last 30 days that it was online, from 0 to 1.
             */
            uptime_30d: number;
            /**
             * Verified
             * @description It has earned the trust that `where.trust: verified` asks for.
             */
            verified: boolean;
        };
        /**
         * ReplicaView
         * @description One that runs a slice once more, for its renter.
         */
        ReplicaView: {
            /**
             * Agrees
             * @description With what counts; None before that is known.
             */
            agrees: boolean | null;
            /**
             * Job Id
             * @description Hidden from lists; its log is read by this id.
             */
            job_id: string;
            /**
             * Node Id
             * @description The id of the node.
             */
            node_id: string | null;
            /**
             * Node Name
             * @description The name of the node.
             */
            node_name: string | null;
            /**
             * Slice
             * @description The number of the slice, counted from 0.
             */
            slice: number;
            /** @description In which state it is. */
            state: components["schemas"]["JobState"];
        };
        /** Report */
        Report: {
            /**
             * Days
             * @description Day by day.
             */
            days: components["schemas"]["DayReport"][];
            /** @description What waits for an operator now. */
            due: components["schemas"]["Due"];
            /**
             * Hosts
             * @description Those that did most for others first.
             */
            hosts: components["schemas"]["HostReport"][];
            /**
             * Since
             * Format: date
             * @description The beginning of the time that this is about.
             */
            since: string;
            /** @description All days together. */
            totals: components["schemas"]["Totals"];
            /**
             * Until
             * Format: date
             * @description Itself not included.
             */
            until: string;
        };
        /**
         * RequestKind
         * @enum {string}
         */
        RequestKind: "checkout" | "card" | "charge" | "confirm" | "refund" | "account" | "pay_out" | "reversal";
        /** RequestList */
        RequestList: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["RequestView"][];
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
            /**
             * Total
             * @description How many match in all; null for more than 10,000.
             */
            total: number | null;
        };
        /**
         * RequestState
         * @enum {string}
         */
        RequestState: "waiting" | "done" | "refused" | "dropped";
        /** RequestView */
        RequestView: {
            /**
             * Created At
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Key
             * @description The key that makes it repeatable.
             */
            key: string;
            /** @description What kind it is. */
            kind: components["schemas"]["RequestKind"];
            /**
             * Message
             * @description The state in words, for people.
             */
            message: string;
            /**
             * Next Try At
             * @description When it is tried again; null when it is over.
             */
            next_try_at: string | null;
            /**
             * Object Id
             * @description The id of what the payment processor made of it.
             */
            object_id: string | null;
            /**
             * Owner Id
             * @description The user or team that it belongs to.
             */
            owner_id: string;
            /** @description In which state it is. */
            state: components["schemas"]["RequestState"];
            /**
             * Tries
             * @description How often it was tried.
             */
            tries: number;
        };
        /**
         * Resolution
         * @enum {string}
         */
        Resolution: "upheld" | "dismissed";
        /** ReversalRequest */
        ReversalRequest: {
            /**
             * Credits
             * @description Nothing: all that did not come back yet.
             */
            credits?: string | number | null;
            /**
             * Note
             * @description Why; the host reads it when it came back.
             */
            note: string;
        };
        /** ReversalView */
        ReversalView: {
            /**
             * Cash Out Id
             * @description The id of the cash-out.
             */
            cash_out_id: string;
            /**
             * Credits
             * @description How much, in credits.
             */
            credits: string;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Message
             * @description The state in words, for people.
             */
            message: string;
            /**
             * Micros
             * @description How much, in micro-credits.
             */
            micros: number;
            /**
             * Owner Id
             * @description The user or team that it belongs to.
             */
            owner_id: string;
            /** @description done: it is back. waiting: the processor did not answer yet. refused: nothing moved. */
            state: components["schemas"]["RequestState"];
        };
        /**
         * Role
         * @description What a user may do on the whole platform.
         * @enum {string}
         */
        Role: "user" | "admin";
        /** RoleRequest */
        RoleRequest: {
            /** @description What the user may do: a `user`, or an `admin` who runs the pool. */
            role: components["schemas"]["Role"];
        };
        /** Room */
        Room: {
            /**
             * Cpus
             * @description Cores.
             */
            cpus: number;
            /**
             * Disk Bytes
             * @description Disk, in bytes.
             */
            disk_bytes: number;
            /**
             * Gpus
             * @description The cards.
             */
            gpus: number;
            /**
             * Memory Bytes
             * @description Memory, in bytes.
             */
            memory_bytes: number;
        };
        /**
         * RunningAttempt
         * @description What a node works on now.
         */
        RunningAttempt: {
            /**
             * Attempt Id
             * @description The id of the attempt.
             */
            attempt_id: string;
            /**
             * Cpus
             * @description The cores that it has.
             */
            cpus: number;
            /**
             * Gpus
             * @description The ids of the GPUs that it has.
             */
            gpus: string[];
            /**
             * Job Id
             * @description The id of the job.
             */
            job_id: string;
            /**
             * Memory Bytes
             * @description The memory that it has.
             */
            memory_bytes: number;
            /**
             * Own
             * @description The job is the host's own: nothing is paid.
             */
            own: boolean;
            /** @description In which state it is. */
            state: components["schemas"]["AttemptState"];
            /**
             * State Since
             * Format: date-time
             * @description Since when it is in this state; after a start of the hub, that start.
             */
            state_since: string;
        };
        /**
         * RunningCost
         * @description What the live attempts of a job cost beside what was billed: they are billed hour by hour and at their ends.
         */
        RunningCost: {
            /**
             * At
             * Format: date-time
             * @description When this was computed.
             */
            at: string;
            /**
             * Held Micros
             * @description What is set aside for them. What they do not use comes back.
             */
            held_micros: number;
            /**
             * Per Hour Micros
             * @description What those whose command runs cost together in an hour.
             */
            per_hour_micros: number;
            /**
             * Unbilled Micros
             * @description About what they cost since they were last billed.
             */
            unbilled_micros: number;
        };
        /**
         * Scope
         * @description What a token may be used for.
         * @enum {string}
         */
        Scope: "jobs:read" | "jobs:write" | "nodes:read" | "nodes:write" | "artifacts:read" | "artifacts:write" | "account:read" | "account:write" | "wallet:read" | "wallet:write" | "wallet:payout" | "team:read" | "team:write" | "secrets:write" | "webhooks:write" | "admin" | "admin:read" | "admin:write";
        /**
         * SecondsView
         * @description How long the attempt ran, and what of that is billed.
         */
        SecondsView: {
            /**
             * Billed
             * @description What is billed.
             */
            billed: number;
            /**
             * Capped
             * @description While its owner kept the power low: taken off.
             */
            capped: number;
            /**
             * Claimed
             * @description By the node's receipt. The lesser of the two counts.
             */
            claimed: number | null;
            /**
             * Hub
             * @description On the hub's clock, from running to exit, without the time in which it was known to rest.
             */
            hub: number;
            /**
             * Preparing
             * @description Of an attempt that was canceled before it ran.
             */
            preparing: number;
            /**
             * Saved
             * @description When the last checkpoint was taken.
             */
            saved: number | null;
            /**
             * Settled Before
             * @description By earlier instalments.
             */
            settled_before: number;
            /**
             * Suspended
             * @description In neither of them.
             */
            suspended: number;
        };
        /**
         * SeriesColumn
         * @description One metric: for each point the least, the mean and the greatest of its samples.
         */
        SeriesColumn: {
            /**
             * Average
             * @description The mean of the samples of each point; null where there is none.
             */
            average: (number | null)[];
            /**
             * Maximum
             * @description The greatest sample of each point; null where there is none.
             */
            maximum: (number | null)[];
            /**
             * Minimum
             * @description The least sample of each point; null where there is none.
             */
            minimum: (number | null)[];
            /**
             * Name
             * @description The metric, such as `cpu` or `gpu0.utilisation`.
             */
            name: string;
            /**
             * Unit
             * @description Of its numbers: share (0 to 1), bytes, bytes per second, cores, watts, seconds …
             */
            unit: string;
        };
        /** ServiceAccountRequest */
        ServiceAccountRequest: {
            /**
             * Expires In Days
             * @description After how many days it stops working; null for never.
             * @default 90
             */
            expires_in_days?: number;
            /**
             * Name
             * @description Its name.
             */
            name: string;
            /**
             * @description `member` or `viewer`.
             * @default member
             */
            role?: components["schemas"]["TeamRole"];
            /**
             * Scopes
             * @description Of its token; left out: all of its role that the caller's token has too.
             */
            scopes?: components["schemas"]["Scope"][] | null;
        };
        /** ServiceTokenRequest */
        ServiceTokenRequest: {
            /**
             * Expires In Days
             * @description After how many days it stops working; null for never.
             * @default 90
             */
            expires_in_days?: number;
            /**
             * Scopes
             * @description Left out: all of the account's role that the caller's token has too.
             */
            scopes?: components["schemas"]["Scope"][] | null;
        };
        /** ServiceTokenView */
        ServiceTokenView: {
            /**
             * Expires At
             * Format: date-time
             * @description When it stops working; null for never.
             */
            expires_at: string;
            /**
             * Scopes
             * @description What the token may be used for.
             */
            scopes: components["schemas"]["Scope"][];
            /**
             * Token
             * @description Shown this once.
             */
            token: string;
            /**
             * Token Id
             * @description The id of the token.
             */
            token_id: string;
            /**
             * User Id
             * @description Of the service account.
             */
            user_id: string;
        };
        /** SessionList */
        SessionList: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["SessionView"][];
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
        };
        /** SessionView */
        SessionView: {
            /**
             * Address
             * @description The network address that signed in; null where that is not known.
             */
            address: string | null;
            /**
             * Created At
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Current
             * @description Whether it is the session that asks.
             */
            current: boolean;
            /**
             * Expires At
             * Format: date-time
             * @description When it stops working; null for never.
             */
            expires_at: string;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Last Used At
             * Format: date-time
             * @description When it was last used.
             */
            last_used_at: string;
            /** @description How it signed in; null where that is not known. */
            method: components["schemas"]["SignInMethod"] | null;
            /**
             * User Agent
             * @description What the program calls itself.
             */
            user_agent: string;
        };
        /**
         * SettingChangeView
         * @description One change in the past.
         */
        SettingChangeView: {
            /**
             * Before
             * @description What was in force until then.
             */
            before: boolean | number | string | null;
            /**
             * Changed At
             * Format: date-time
             * @description When it was changed.
             */
            changed_at: string;
            /**
             * Changed By
             * @description The id of the admin.
             */
            changed_by: string;
            /**
             * Changed By Email
             * @description The e-mail address of the admin.
             */
            changed_by_email: string | null;
            /**
             * Reason
             * @description Why, as the admin wrote it.
             */
            reason: string;
            /**
             * Reset
             * @description Whether it went back to the environment's value.
             */
            reset: boolean;
            /**
             * Value
             * @description What was stored; null after a reset.
             */
            value: boolean | number | string | null;
            /**
             * Version
             * @description Its number.
             */
            version: number;
        };
        /**
         * SettingGroup
         * @enum {string}
         */
        SettingGroup: "accounts" | "prices" | "cash_outs" | "limits" | "verification" | "storage";
        /** SettingHistory */
        SettingHistory: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["SettingChangeView"][];
            /**
             * Name
             * @description Its name.
             */
            name: string;
            /**
             * Next
             * @description The `cursor` of the following page; null on the last.
             */
            next: number | null;
        };
        /** SettingList */
        SettingList: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["SettingView"][];
            /**
             * Tables
             * @description Tables of the market; none where money is off.
             */
            tables: components["schemas"]["MarketTableNote"][];
        };
        /**
         * SettingPreview
         * @description What a change would do. Nothing is changed.
         */
        SettingPreview: {
            /**
             * Lines
             * @description Examples, where the hub can work them out.
             */
            lines: components["schemas"]["PreviewLine"][];
            /**
             * Message
             * @description From when on it would count, and for whom.
             */
            message: string;
            /**
             * Name
             * @description Its name.
             */
            name: string;
            /**
             * Value
             * @description The value as it would be stored.
             */
            value: boolean | number | string | null;
        };
        /** SettingPut */
        SettingPut: {
            /**
             * Reason
             * @description Why. It stays in the history.
             */
            reason: string;
            /**
             * Value
             * @description The new value.
             */
            value?: boolean | number | string | null;
            /**
             * Version
             * @description The one that was looked at: a change by somebody else meanwhile is then an error, not lost.
             */
            version?: number | null;
        };
        /** SettingReset */
        SettingReset: {
            /**
             * Reason
             * @description Why. It stays in the history.
             */
            reason: string;
            /**
             * Version
             * @description The one that was looked at: a change by somebody else meanwhile is then an error, not lost.
             */
            version?: number | null;
        };
        /** SettingTry */
        SettingTry: {
            /**
             * Value
             * @description The value to look at.
             */
            value?: boolean | number | string | null;
        };
        /**
         * SettingView
         * @description One setting of the pool.
         */
        SettingView: {
            /**
             * Changed At
             * @description When an admin last changed it.
             */
            changed_at: string | null;
            /**
             * Changed By
             * @description The id of that admin.
             */
            changed_by: string | null;
            /**
             * Changed By Email
             * @description The e-mail address of that admin.
             */
            changed_by_email: string | null;
            /**
             * Choices
             * @description Of a choice: its values.
             */
            choices: string[];
            /**
             * Default
             * @description What the hub's environment says: in force after a reset.
             */
            default: boolean | number | string | null;
            /**
             * Description
             * @description What it means.
             */
            description: string;
            /** @description What it is about. */
            group: components["schemas"]["SettingGroup"];
            /**
             * Maximum
             * @description The most that it may be.
             */
            maximum: number | null;
            /**
             * Minimum
             * @description The least that it may be.
             */
            minimum: number | null;
            /**
             * Name
             * @description Its name here, such as `platform_fee_bps`.
             */
            name: string;
            /**
             * Optional
             * @description Whether it may be null, which the description explains.
             */
            optional: boolean;
            /**
             * Reason
             * @description Why, as the admin wrote it.
             */
            reason: string | null;
            /**
             * Source
             * @description Where the value in force comes from: an admin, an environment variable, or the program.
             * @enum {string}
             */
            source: "stored" | "env" | "default";
            /**
             * Type
             * @description What kind of value it takes. A decimal is a string, so that it stays exact.
             * @enum {string}
             */
            type: "integer" | "number" | "decimal" | "boolean" | "choice";
            /**
             * Unit
             * @description What is counted, such as `bytes`; null for a choice.
             */
            unit: string | null;
            /**
             * Value
             * @description What is in force now.
             */
            value: boolean | number | string | null;
            /**
             * Variable
             * @description The environment variable that its default comes from.
             */
            variable: string;
            /**
             * Version
             * @description Grows with each change; 0 before the first.
             */
            version: number;
        };
        /** ShareList */
        ShareList: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["ShareView"][];
            /**
             * Next
             * @description Always null: a job has at most 20 links.
             */
            next: null;
        };
        /**
         * ShareRequest
         * @description What a link shows, and for how long it works.
         */
        ShareRequest: {
            /**
             * Expires In Days
             * @description After so many days it stops working; null for never.
             */
            expires_in_days?: number | null;
            /**
             * With Logs
             * @description Show the logs too. They hold whatever the job prints.
             * @default false
             */
            with_logs?: boolean;
            /**
             * With Outputs
             * @description Show the names, sizes and digests of the outputs too.
             * @default false
             */
            with_outputs?: boolean;
        };
        /** ShareView */
        ShareView: {
            /**
             * Created At
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Expires At
             * @description When it stops working; null for never.
             */
            expires_at: string | null;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Job Id
             * @description The id of the job.
             */
            job_id: string;
            /**
             * With Logs
             * @description Whether the link shows the logs.
             */
            with_logs: boolean;
            /**
             * With Outputs
             * @description Whether the link shows which outputs there are.
             */
            with_outputs: boolean;
        };
        /**
         * SharedJob
         * @description A job as a link shows it.
         */
        SharedJob: {
            /**
             * Expires At
             * @description When it stops working; null for never.
             */
            expires_at: string | null;
            /** @description What everybody may know of it. */
            job: components["schemas"]["PublicJob"];
            /**
             * With Logs
             * @description Whether the link shows its logs.
             */
            with_logs: boolean;
            /**
             * With Outputs
             * @description Whether the link shows which outputs it has.
             */
            with_outputs: boolean;
        };
        /**
         * SharedOutput
         * @description A file that the job left behind.
         */
        SharedOutput: {
            /**
             * Digest
             * @description `sha256:` and the digest of the content, in hexadecimal digits.
             */
            digest: string;
            /**
             * Path
             * @description The path of the file, below the folder of the job.
             */
            path: string;
            /**
             * Size Bytes
             * @description The size in bytes.
             */
            size_bytes: number;
            /**
             * Slice
             * @description The number of the slice, counted from 0.
             */
            slice: number;
        };
        /** SharedOutputs */
        SharedOutputs: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["SharedOutput"][];
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
        };
        /**
         * SignInMethod
         * @description How a session was opened.
         * @enum {string}
         */
        SignInMethod: "password" | "registration" | "one_time" | "device" | "new_password";
        /** SignInOptions */
        SignInOptions: {
            /**
             * Browser Cookie
             * @description Whether a page at the hub's public address may keep its session in a cookie: `browser: true` at sign-in.
             */
            browser_cookie: boolean;
            /**
             * Methods
             * @description How people can sign in.
             */
            methods: ("password" | "link" | "device")[];
            /**
             * Providers
             * @description Names of other identity providers that one may sign in with. None yet.
             */
            providers: string[];
            /**
             * Registration
             * @description Whether people may make themselves an account.
             * @enum {string}
             */
            registration: "open" | "closed";
        };
        /**
         * Signed
         * @description A body in the exact bytes that were signed, as text: JSON is carried as it is, not encoded again.
         */
        Signed: {
            /**
             * Body
             * @description What was signed: JSON, as text.
             */
            body: string;
            /**
             * Key Id
             * @description The id of the key that signed it.
             */
            key_id: string;
            /**
             * Signature
             * @description The signature, in base64.
             */
            signature: string;
            /**
             * Type
             * @description Without a zero byte: that is what ends it in what is signed.
             */
            type: string;
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
             * @description Cards of the nodes that are online.
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
             * @description Nodes that take work now.
             * @default 0
             */
            nodes_online: number;
            /**
             * Nodes Total
             * @description All nodes of the pool.
             * @default 0
             */
            nodes_total: number;
            /**
             * Slices Running
             * @description Slices that run.
             * @default 0
             */
            slices_running: number;
        };
        /**
         * SliceAmounts
         * @description What a slice is given of a node, beside GPUs.
         */
        SliceAmounts: {
            /**
             * Cpus
             * @description Cores.
             */
            cpus: number;
            /**
             * Disk Bytes
             * @description Disk, in bytes.
             */
            disk_bytes: number;
            /**
             * Memory Bytes
             * @description Memory, in bytes.
             */
            memory_bytes: number;
        };
        /** SliceGrid */
        SliceGrid: {
            /**
             * Indices
             * @description Which slices these are, such as `0-3, 17`, if not all from 0 on: a retry runs some of them.
             */
            indices: string | null;
            /**
             * Job Id
             * @description The id of the job.
             */
            job_id: string;
            /**
             * Legend
             * @description Every letter that there can be, also those that no slice has.
             */
            legend: components["schemas"]["GridKey"][];
            /**
             * Slices
             * @description One letter for each slice, in order.
             */
            slices: string;
            /** @description Of the job. */
            state: components["schemas"]["JobState"];
        };
        /** SliceView */
        SliceView: {
            /**
             * Attempts
             * @description Its attempts, in their order.
             */
            attempts: components["schemas"]["AttemptView"][];
            /**
             * Awaits Check
             * @description It has a result, which counts when its replicas confirm it.
             * @default false
             */
            awaits_check: boolean;
            /**
             * Exit Code
             * @description What the command returned; null where it did not come to that.
             */
            exit_code: number | null;
            /**
             * Finished At
             * @description When it ended; null before.
             */
            finished_at: string | null;
            /**
             * Index
             * @description The number of the slice, counted from 0.
             */
            index: number;
            /**
             * Reason
             * @description Why: a word that stays the same for the same cause.
             */
            reason: components["schemas"]["AttemptReason"] | null;
            /**
             * Retry At
             * @description While it waits for another attempt: not before then.
             */
            retry_at: string | null;
            /**
             * Started At
             * @description When the command of its first attempt began.
             */
            started_at: string | null;
            /** @description In which state it is. */
            state: components["schemas"]["JobState"];
            /** @description Whose doing the end was; null before. */
            verdict: components["schemas"]["Verdict"] | null;
        };
        /**
         * Software
         * @description An engine, a runtime or a driver toolkit that jobs depend on.
         */
        Software: {
            /**
             * Name
             * @description Its name.
             */
            name: string;
            /**
             * Version
             * @description The version.
             */
            version: string;
        };
        /**
         * SpecCheck
         * @description What the pool makes of a spec.
         */
        SpecCheck: {
            /**
             * Command
             * @description The command line that submits the same job, quoted for a shell.
             */
            command: string | null;
            /**
             * Defaults
             * @description What the spec left out, and what is taken instead.
             */
            defaults: components["schemas"]["FilledDefault"][];
            /**
             * Errors
             * @description What is wrong; empty if it is valid.
             */
            errors: components["schemas"]["SpecProblem"][];
            /**
             * Spec
             * @description The canonical form, with every default that counts; null if it is not valid.
             */
            spec: components["schemas"]["WireSpec"] | null;
            /**
             * Valid
             * @description Whether a job can be made of it.
             */
            valid: boolean;
            /**
             * Warnings
             * @description What is valid, and probably not meant.
             */
            warnings: components["schemas"]["SpecWarning"][];
            /**
             * Yaml
             * @description The same as YAML text.
             */
            yaml: string | null;
        };
        /**
         * SpecProblem
         * @description One thing that is wrong with a spec.
         */
        SpecProblem: {
            /**
             * Code
             * @description bad_text: neither YAML nor JSON. bad_spec: a field is wrong. not_supported_yet: valid, and this pool cannot do
             *     it.
             * @enum {string}
             */
            code: "bad_text" | "bad_spec" | "not_supported_yet";
            /**
             * Column
             * @description The same, in its line.
             */
            column: number | null;
            /**
             * Field
             * @description Its name, with dots between the parts: `resources.gpu`.
             */
            field: string;
            /**
             * Hint
             * @description What to write instead.
             */
            hint: string | null;
            /**
             * Line
             * @description Where it is written, counted from 1; null where it is not written, and for JSON that can be read.
             */
            line: number | null;
            /**
             * Message
             * @description What is wrong with it. Reads on after the name of the field.
             */
            message: string;
            /**
             * Value
             * @description What was sent, shortened. Left out where it may be secret.
             */
            value: string | null;
        };
        /**
         * SpecWarning
         * @description Valid, and probably not what was meant, or worth knowing before the job runs.
         */
        SpecWarning: {
            /**
             * Code
             * @description The same word for the same finding.
             * @enum {string}
             */
            code: "deterministic_with_network" | "dropped_key" | "image_may_change" | "long_without_checkpoint" | "needs_network" | "needs_root" | "nothing_kept" | "only_own_nodes" | "other_systems_key" | "paid_for_each_replica" | "preemptible_without_checkpoint" | "range_gets_minimum" | "secret_in_env" | "simulated" | "slices_alike" | "unknown_gpu" | "workdir_is_local";
            /**
             * Field
             * @description The key of the spec that it is about.
             */
            field: string | null;
            /**
             * Message
             * @description What to know or to change, in a sentence or two.
             */
            message: string;
        };
        /** SpotView */
        SpotView: {
            /**
             * At
             * Format: date-time
             * @description When it happened.
             */
            at: string;
            /**
             * Region
             * @description The region of the market.
             */
            region: string;
            /**
             * Simulated
             * @description It only pretends to compute: no real hardware.
             */
            simulated: boolean;
            /**
             * Spot
             * @description The factor by which demand moves the price now.
             */
            spot: number;
            /**
             * Tier
             * @description The multiplier of a card's price.
             */
            tier: string;
            /**
             * Units
             * @description How many GPUs or cores there are.
             */
            units: number;
            /**
             * Utilisation
             * @description The share that is in use, from 0 to 1.
             */
            utilisation: number | null;
        };
        /** StatementLine */
        StatementLine: {
            /**
             * At
             * Format: date-time
             * @description When it happened.
             */
            at: string;
            /**
             * Attempt Id
             * @description The id of the attempt.
             */
            attempt_id: string | null;
            /**
             * Balance Micros
             * @description What is there afterwards.
             */
            balance_micros: number;
            /**
             * Change Micros
             * @description What there is more or less afterwards.
             */
            change_micros: number;
            /**
             * Entry Id
             * @description The id of the ledger's entry.
             */
            entry_id: string;
            /**
             * Fee Paid Micros
             * @description The fee within what was paid.
             */
            fee_paid_micros: number;
            /**
             * Fee Withheld Micros
             * @description The fee that was taken off what was earned.
             */
            fee_withheld_micros: number;
            /**
             * Job Id
             * @description The id of the job.
             */
            job_id: string | null;
            /**
             * Kind
             * @description What kind it is.
             * @enum {string}
             */
            kind: "grant" | "withdrawal" | "welcome" | "voucher" | "hold" | "settle" | "give_back" | "clawback" | "clawback_overturned" | "restitution" | "dispute_refund" | "dispute_refund_undone" | "storage" | "debt_filled" | "write_off" | "write_off_returned" | "top_up" | "refund_asked" | "refund" | "refund_failed" | "chargeback" | "chargeback_won" | "cash_out" | "cash_out_returned" | "pay_out";
            /**
             * Note
             * @description What the person who did it wrote.
             */
            note: string;
            /**
             * Pockets
             * @description By pocket of the wallet, the same.
             */
            pockets: {
                [key: string]: number;
            };
            /**
             * Title
             * @description What kind of entry it is, in words.
             */
            title: string;
        };
        /** StatementPeriod */
        StatementPeriod: {
            /**
             * End
             * Format: date-time
             * @description Itself not included.
             */
            end: string;
            /**
             * Is Over
             * @description Else its statement goes up to now.
             */
            is_over: boolean;
            /**
             * Period
             * @description Of `wallet/statements/{period}`: a month such as 2026-11, or a year.
             */
            period: string;
            /**
             * Start
             * Format: date-time
             * @description The first instant of the period.
             */
            start: string;
        };
        /** StatementPeriods */
        StatementPeriods: {
            /**
             * Months
             * @description With at least one entry, the newest first.
             */
            months: components["schemas"]["StatementPeriod"][];
            /**
             * Years
             * @description The years of these months, the newest first.
             */
            years: components["schemas"]["StatementPeriod"][];
        };
        /**
         * StatementView
         * @description In millionths of a credit. All pockets together, debts taken off, are the balance.
         */
        StatementView: {
            /**
             * Closing
             * @description The balances at the end.
             */
            closing: {
                [key: string]: number;
            };
            /**
             * Closing Micros
             * @description The balance at the end.
             */
            closing_micros: number;
            /**
             * End
             * Format: date-time
             * @description Itself not included.
             */
            end: string;
            /**
             * Fees Paid Micros
             * @description In what was paid as a renter.
             */
            fees_paid_micros: number;
            /**
             * Fees Withheld Micros
             * @description From what was paid for work as a host: it never came into the wallet.
             */
            fees_withheld_micros: number;
            /**
             * Is Over
             * @description Else it goes up to `made_at`, and more may come.
             */
            is_over: boolean;
            /**
             * Lines
             * @description The lines.
             */
            lines: components["schemas"]["StatementLine"][];
            /**
             * Made At
             * Format: date-time
             * @description When it was made.
             */
            made_at: string;
            /**
             * Opening
             * @description By pocket.
             */
            opening: {
                [key: string]: number;
            };
            /**
             * Opening Micros
             * @description The balance at the beginning.
             */
            opening_micros: number;
            /**
             * Owner Id
             * @description The user or team that it belongs to.
             */
            owner_id: string;
            /**
             * Owner Name
             * @description The name of the owner.
             */
            owner_name: string;
            /**
             * Period
             * @description The month or year.
             */
            period: string;
            /**
             * Start
             * Format: date-time
             * @description The first instant of the period.
             */
            start: string;
            /**
             * Totals
             * @description By kind of entry, what all of them changed.
             */
            totals: {
                [key: string]: number;
            };
        };
        /**
         * Step
         * @description One step of a calculation that a person can follow with a pocket calculator.
         */
        Step: {
            /**
             * Figure
             * @description What is multiplied, added or taken away, such as `× 0.7`.
             */
            figure: string;
            /**
             * Label
             * @description What the step is.
             */
            label: string;
            /**
             * Micros
             * @description What it comes to, where it is an amount.
             */
            micros: number | null;
        };
        /**
         * StorageLimits
         * @description Both at once: what is left out, or null, is the pool's default again.
         */
        StorageLimits: {
            /**
             * Bytes
             * @description In bytes.
             */
            bytes?: number | null;
            /**
             * Objects
             * @description How many objects.
             */
            objects?: number | null;
        };
        /** StoragePage */
        StoragePage: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["StoredArtifact"][];
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
            /**
             * Total
             * @description How many match in all; null for more than 10,000.
             */
            total: number | null;
        };
        /**
         * StoredArtifact
         * @description One file that is stored, or on its way. Logs are no files: they go with their job.
         */
        StoredArtifact: {
            /** @description What the caller may do with it. */
            actions: components["schemas"]["ArtifactActions"];
            /**
             * Created At
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Digest
             * @description `sha256:` and the digest of the content, in hexadecimal digits.
             */
            digest: string;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Job Id
             * @description Of an output or a checkpoint: the job that left it.
             */
            job_id: string | null;
            /**
             * Job Name
             * @description The name of that job.
             */
            job_name: string | null;
            /** @description What kind it is. */
            kind: components["schemas"]["ArtifactKind"];
            /**
             * Path
             * @description Of an output: its name among the job's outputs.
             */
            path: string | null;
            /**
             * Size Bytes
             * @description The size in bytes.
             */
            size_bytes: number;
            /** @description In which state it is. */
            state: components["schemas"]["ArtifactState"];
            /**
             * Stored At
             * @description When it was stored, or announced again since.
             */
            stored_at: string | null;
            /**
             * Used By
             * @description Of a bundle or an input: the newest jobs that were given it, a few of the last 1,000.
             */
            used_by: components["schemas"]["ArtifactUse"][];
        };
        /** TableChange */
        TableChange: {
            /**
             * Value
             * @description The table.
             */
            value: components["schemas"]["TiersInput"] | components["schemas"]["RegionsInput"] | components["schemas"]["RatesInput"];
            /**
             * Version
             * @description The one that was looked at: a change by somebody else meanwhile is then an error, not lost.
             */
            version?: number | null;
        };
        /** TableVersion */
        TableVersion: {
            /**
             * Changed At
             * Format: date-time
             * @description When it was changed.
             */
            changed_at: string;
            /**
             * Changed By
             * @description The user who changed it.
             */
            changed_by: string;
            /**
             * Changed By Email
             * @description Null where it was not a person.
             */
            changed_by_email: string | null;
            /**
             * Value
             * @description The table.
             */
            value: components["schemas"]["Tiers"] | components["schemas"]["Regions"] | components["schemas"]["Rates"];
            /**
             * Version
             * @description The version.
             */
            version: number;
        };
        /** TableView */
        TableView: {
            /**
             * History
             * @description The newest first; each is what it was changed to.
             */
            history: components["schemas"]["TableVersion"][];
            /**
             * Name
             * @description Its name.
             * @enum {string}
             */
            name: "tiers" | "regions" | "rates";
            /**
             * Notices
             * @description What an operator should look at.
             */
            notices: string[];
            /**
             * Value
             * @description The table.
             */
            value: components["schemas"]["Tiers"] | components["schemas"]["Regions"] | components["schemas"]["Rates"];
            /**
             * Version
             * @description 0 before the first change.
             */
            version: number;
        };
        /**
         * TeamChange
         * @description What is left out stays as it is.
         */
        TeamChange: {
            /**
             * Handle
             * @description The former one still leads to the team.
             */
            handle?: string | null;
            /**
             * Name
             * @description Its name.
             */
            name?: string | null;
        };
        /** TeamList */
        TeamList: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["TeamView"][];
        };
        /** TeamRequest */
        TeamRequest: {
            /**
             * Handle
             * @description Its public and unique name, such as my-lab: letters a-z, digits and hyphens.
             */
            handle: string;
            /**
             * Name
             * @description As people write it; left out: the handle.
             */
            name?: string | null;
        };
        /**
         * TeamRole
         * @description What a member may do within a team: a set of scopes.
         * @enum {string}
         */
        TeamRole: "owner" | "admin" | "member" | "viewer";
        /** TeamView */
        TeamView: {
            /**
             * Created At
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Handle
             * @description The unique name in addresses and links.
             */
            handle: string;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Name
             * @description Its name.
             */
            name: string;
            /** @description The caller's. */
            role: components["schemas"]["TeamRole"];
            /**
             * Scopes
             * @description What that role may do within the team, if the caller's token may too.
             */
            scopes: components["schemas"]["Scope"][];
        };
        /**
         * Tiers
         * @description How much more than the base rate each kind of card is worth, in thousandths.
         */
        Tiers: {
            /**
             * Cards
             * @description By the short name of the card.
             */
            cards: {
                [key: string]: number;
            };
            /**
             * Cpu Millis
             * @description Of eight cores, for work without a GPU.
             * @default 800
             */
            cpu_millis: number;
        };
        /**
         * TiersInput
         * @description How much more than the base rate each kind of card is worth, in thousandths.
         */
        TiersInput: {
            /**
             * Cards
             * @description By the short name of the card.
             */
            cards?: {
                [key: string]: number;
            };
            /**
             * Cpu Millis
             * @description Of eight cores, for work without a GPU.
             * @default 800
             */
            cpu_millis?: number;
        };
        /**
         * TimelineEvent
         * @description One thing that happened.
         */
        TimelineEvent: {
            /**
             * Action
             * @description Such as `attempt.running`.
             */
            action: string;
            /**
             * At
             * Format: date-time
             * @description When the hub recorded it.
             */
            at: string;
            /**
             * Attempt
             * @description Of an attempt: its number, from 1.
             */
            attempt: number | null;
            /**
             * Attempt Id
             * @description Of an attempt: its id.
             */
            attempt_id: string | null;
            /**
             * By
             * @description Who did it: the renter, the node, the hub or an operator.
             * @enum {string}
             */
            by: "renter" | "node" | "hub" | "operator";
            /**
             * Id
             * @description Grows with every event of the pool.
             */
            id: number;
            /**
             * Message
             * @description The action in words.
             */
            message: string;
            /**
             * Node Id
             * @description Of an attempt: where it runs.
             */
            node_id: string | null;
            /**
             * Node Name
             * @description Of an attempt: the name of its node.
             */
            node_name: string | null;
            /**
             * Reason
             * @description Of an end: why.
             */
            reason: components["schemas"]["AttemptReason"] | null;
            /**
             * Slice
             * @description Of an attempt: its slice, counted from 0.
             */
            slice: number | null;
            /** @description Of an attempt's end: whose doing it was. */
            verdict: components["schemas"]["Verdict"] | null;
        };
        /** TokenList */
        TokenList: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["TokenView"][];
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
        };
        /** TokenPair */
        TokenPair: {
            /**
             * Access Token
             * @description For the `Authorization` header; good for a quarter of an hour.
             */
            access_token: string;
            /**
             * Expires In
             * @description Of the access token, in seconds.
             */
            expires_in: number;
            /**
             * Refresh Token
             * @description Null where it was set as a cookie.
             */
            refresh_token: string | null;
            /**
             * Token Type
             * @description Always `bearer`.
             * @default Bearer
             * @constant
             */
            token_type: "Bearer";
            /**
             * User Id
             * @description The id of the user.
             */
            user_id: string;
        };
        /** TokenRequest */
        TokenRequest: {
            /**
             * Expires In Days
             * @description After how many days it stops working; null for never.
             * @default 90
             */
            expires_in_days?: number;
            /**
             * Name
             * @description Its name.
             */
            name: string;
            /**
             * Scopes
             * @description Left out: all that the caller has.
             */
            scopes?: components["schemas"]["Scope"][] | null;
        };
        /** TokenView */
        TokenView: {
            /**
             * Created At
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Expires At
             * Format: date-time
             * @description When it stops working; null for never.
             */
            expires_at: string;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Last Used At
             * @description When it was last used.
             */
            last_used_at: string | null;
            /**
             * Name
             * @description Its name.
             */
            name: string;
            /**
             * Scopes
             * @description What the token may be used for.
             */
            scopes: components["schemas"]["Scope"][];
        };
        /** TopUpActions */
        TopUpActions: {
            /** @description Pay or confirm, at `url`. */
            pay: components["schemas"]["ActionView"];
        };
        /** TopUpList */
        TopUpList: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["TopUpView"][];
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
            /**
             * Total
             * @description How many match in all; null for more than 10,000.
             */
            total: number | null;
        };
        /**
         * TopUpQuote
         * @description What a top-up costs. Nobody is charged a part of a coin.
         */
        TopUpQuote: {
            /** @description What the caller may do. */
            actions: components["schemas"]["TopUpQuoteActions"];
            /**
             * Amount
             * @description With its currency, such as `50.00 EUR`.
             */
            amount: string;
            /**
             * Amount Minor
             * @description In the currency's smallest coins.
             */
            amount_minor: number;
            /**
             * Credits
             * @description How much, in credits.
             */
            credits: string;
            /**
             * Currency
             * @description The currency, as three letters.
             */
            currency: string;
            /**
             * Is Exact
             * @description Else what was asked for is no whole number of coins, and this is the next above it.
             */
            is_exact: boolean;
            /**
             * Message
             * @description In words, such as `100 credits = 50.00 EUR`.
             */
            message: string;
            /**
             * Micros
             * @description How much, in micro-credits.
             */
            micros: number;
        };
        /** TopUpQuoteActions */
        TopUpQuoteActions: {
            /** @description Buy so many credits: `POST wallet/top-ups`. */
            top_up: components["schemas"]["ActionView"];
        };
        /** TopUpRequest */
        TopUpRequest: {
            /**
             * Card
             * @description Which card: a new one, or the one that is saved.
             * @default new
             * @enum {string}
             */
            card?: "new" | "saved";
            /**
             * Credits
             * @description How much, in credits.
             */
            credits: string | number;
            /**
             * Owner Id
             * @description Whose wallet: one's own, or a team's.
             */
            owner_id?: string | null;
            /**
             * Save Card
             * @description Leave the new card with the processor, for later.
             * @default false
             */
            save_card?: boolean;
        };
        /**
         * TopUpState
         * @enum {string}
         */
        TopUpState: "pending" | "open" | "requires_action" | "processing" | "paid" | "failed" | "expired";
        /** TopUpView */
        TopUpView: {
            /** @description What its owner may do. */
            actions: components["schemas"]["TopUpActions"];
            /**
             * Amount
             * @description In the currency.
             */
            amount: string;
            /**
             * Created At
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Credits
             * @description How much, in credits.
             */
            credits: string;
            /**
             * Ended At
             * @description When it came to its end; null before.
             */
            ended_at: string | null;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Message
             * @description The state in words, for people.
             */
            message: string;
            /**
             * Micros
             * @description How much, in micro-credits.
             */
            micros: number;
            /**
             * Owner Id
             * @description The user or team that it belongs to.
             */
            owner_id: string;
            /** @description In which state it is. */
            state: components["schemas"]["TopUpState"];
            /**
             * Url
             * @description Where the person pays or confirms, while there is something to do.
             */
            url: string | null;
            /**
             * Way
             * @description By which way it is paid.
             * @enum {string}
             */
            way: "checkout" | "card" | "automatic" | "per_job";
        };
        /** Totals */
        Totals: {
            /**
             * Fees Micros
             * @description Of that, the platform's, without what was given back.
             */
            fees_micros: number;
            /**
             * Jobs
             * @description Submitted, without those that the platform runs to check others.
             */
            jobs: number;
            /**
             * Paid In Micros
             * @description Money that came: top-ups, and what was granted for money.
             */
            paid_in_micros: number;
            /**
             * Paid Out Micros
             * @description Money that went to hosts: cash-outs, without what was taken back of them.
             */
            paid_out_micros: number;
            /**
             * Refunded Micros
             * @description To renters: after disputes, checks, and attempts that came to nothing.
             */
            refunded_micros: number;
            /**
             * Returned Micros
             * @description Money that went back to cards: refunds and chargebacks, without those that failed or were won.
             * @default 0
             */
            returned_micros: number;
            /**
             * Spent Micros
             * @description By renters.
             */
            spent_micros: number;
            /**
             * Storage Micros
             * @description What owners paid for storage. It is not among the fees.
             * @default 0
             */
            storage_micros: number;
            /**
             * Withdrawn Micros
             * @description Money that renters got back elsewhere: what was withdrawn by hand.
             * @default 0
             */
            withdrawn_micros: number;
            /**
             * Written Off Micros
             * @description Debts that the pool bore, without what came back of that.
             * @default 0
             */
            written_off_micros: number;
        };
        /**
         * Trust
         * @description Whose nodes may run the job.
         * @enum {string}
         */
        Trust: "mine" | "verified" | "any";
        /** UnreadNotices */
        UnreadNotices: {
            /**
             * Unread
             * @description How many are unread now; null for more than 10,000.
             */
            unread: number | null;
        };
        /** UploadLimits */
        UploadLimits: {
            /**
             * Artifact Bytes
             * @description The largest artifact.
             */
            artifact_bytes: number;
            /**
             * Bundle Bytes
             * @description The largest bundle that is sent along with a job.
             */
            bundle_bytes: number;
            /**
             * Part Bytes
             * @description Announced artifacts are uploaded in parts of this size.
             */
            part_bytes: number;
        };
        /**
         * UploadView
         * @description PUT the part's bytes to `url` with `headers`.
         */
        UploadView: {
            /**
             * Headers
             * @description Headers that the upload has to have.
             */
            headers: {
                [key: string]: string;
            };
            /**
             * Part
             * @description The number of the part, counted from 0.
             */
            part: number;
            /**
             * Size Bytes
             * @description The size in bytes.
             */
            size_bytes: number;
            /**
             * Url
             * @description Absolute, or relative to the hub's address.
             */
            url: string;
        };
        /** UptimeDay */
        UptimeDay: {
            /**
             * Day
             * Format: date
             * @description Of UTC.
             */
            day: string;
            /**
             * Share
             * @description Of the day, as far as it is over and the node was a member: how much of it the node was connected, from 0 to
             *     1.
             */
            share: number;
        };
        /** Usage */
        Usage: {
            /**
             * Cpu Seconds
             * @description Of all cores together.
             * @default 0
             */
            cpu_seconds: number;
            /**
             * Network Bytes
             * @description In and out, through the agent's proxy.
             * @default 0
             */
            network_bytes: number;
            /**
             * Peak Memory Bytes
             * @description The most memory that was in use at once.
             * @default 0
             */
            peak_memory_bytes: number;
            /**
             * Power Capped Seconds
             * @description Of the running seconds, those in which the owner's policy had capped the power of one of its GPUs.
             * @default 0
             */
            power_capped_seconds: number;
            /**
             * Running Seconds
             * @description From the command's start to its exit, on a clock that runs through sleep; suspended time is not in it.
             */
            running_seconds: number;
            /**
             * Setup Seconds
             * @description Part of the running seconds.
             * @default 0
             */
            setup_seconds: number;
            /**
             * Suspended Seconds
             * @description While the owner kept it suspended.
             * @default 0
             */
            suspended_seconds: number;
        };
        /**
         * UsageView
         * @description Null is no limit.
         */
        UsageView: {
            /**
             * Bytes
             * @description Of bundles, inputs, outputs, checkpoints and logs.
             */
            bytes: number;
            /**
             * Bytes Today
             * @description Added since midnight of UTC, deleted again or not.
             */
            bytes_today: number;
            /**
             * Cost Micros Per Day
             * @description Of what is stored now.
             */
            cost_micros_per_day: number | null;
            /**
             * Free Bytes
             * @description Where storage has a price: what is stored for nothing.
             */
            free_bytes: number | null;
            /**
             * Limit Bytes
             * @description The most that may be stored, in bytes.
             */
            limit_bytes: number | null;
            /**
             * Limit Bytes Per Day
             * @description Until the first credits are bought.
             */
            limit_bytes_per_day: number | null;
            /**
             * Limit Objects
             * @description The most objects that may be stored.
             */
            limit_objects: number | null;
            /**
             * Objects
             * @description Files and logs.
             */
            objects: number;
            /**
             * Owner Id
             * @description The user or team that it belongs to.
             */
            owner_id: string;
            /**
             * Price Micros
             * @description Of a GB beyond that, for a day.
             */
            price_micros: number | null;
            /**
             * Refused From
             * @description If it is still unpaid on that day, nothing more is stored.
             */
            refused_from: string | null;
            /**
             * Unpaid Micros
             * @description For earlier days that could not be paid.
             */
            unpaid_micros: number | null;
            /**
             * Unpaid Since
             * @description The first of these days, of UTC.
             */
            unpaid_since: string | null;
        };
        /**
         * UserActions
         * @description What an admin may do about somebody.
         */
        UserActions: {
            /** @description Make them an admin, or no longer. */
            change_role: components["schemas"]["ActionView"];
            /** @description Close the account. */
            disable: components["schemas"]["ActionView"];
            /** @description Open it again. */
            enable: components["schemas"]["ActionView"];
        };
        /** UserDisabled */
        UserDisabled: {
            /**
             * Jobs Canceled
             * @description How many of their jobs were canceled.
             */
            jobs_canceled: number;
            /**
             * Message
             * @description What became of what they had running, in words.
             */
            message: string;
            /**
             * Sessions Ended
             * @description How many sessions ended.
             */
            sessions_ended: number;
            /**
             * Tokens Ended
             * @description How many personal access tokens ended.
             */
            tokens_ended: number;
            /** @description As they are now. */
            user: components["schemas"]["UserView"];
        };
        /** UserList */
        UserList: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["UserView"][];
            /**
             * Next
             * @description The cursor of what comes after.
             */
            next: string | null;
            /**
             * Total
             * @description How many match in all; null for more than 10,000.
             */
            total: number | null;
        };
        /**
         * UserView
         * @description As an admin sees somebody.
         */
        UserView: {
            /** @description What an admin may do about them. */
            actions: components["schemas"]["UserActions"];
            /**
             * Country
             * @description As two letters of ISO 3166; null where it is not known.
             */
            country: string | null;
            /**
             * Created At
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Debt Micros
             * @description What they owe.
             */
            debt_micros: number | null;
            /**
             * Disabled At
             * @description When the account was closed; null for one that is open.
             */
            disabled_at: string | null;
            /**
             * Earnings Micros
             * @description What they earned and did not cash out.
             */
            earnings_micros: number | null;
            /**
             * Email
             * @description The e-mail address; null for a team.
             */
            email: string;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Name
             * @description Its name.
             */
            name: string;
            /**
             * Nodes
             * @description Nodes that they own, without banned ones.
             */
            nodes: number;
            /**
             * Open Jobs
             * @description Jobs of theirs that wait or run.
             */
            open_jobs: number;
            /** @description What the user may do: a `user`, or an `admin` who runs the pool. */
            role: components["schemas"]["Role"];
            /**
             * Spendable Micros
             * @description What they can spend.
             */
            spendable_micros: number | null;
        };
        /**
         * Verdict
         * @description Whose doing the end of an attempt was. It alone decides retry, billing and reputation.
         * @enum {string}
         */
        Verdict: "ok" | "renter" | "host" | "owner" | "preempted" | "hub" | "budget";
        /** VerifiedAttempt */
        VerifiedAttempt: {
            /**
             * Attempt
             * @description Its number; 0 for one of another job whose outputs count instead, because others proved the job's own wrong.
             */
            attempt: number;
            /**
             * Checks
             * @description In the order in which they were made.
             */
            checks: components["schemas"]["VerifiedCheck"][];
            /**
             * Node Name
             * @description The name of the node.
             */
            node_name: string;
            /**
             * Passed
             * @description All of its checks did.
             */
            passed: boolean;
            /**
             * Slice
             * @description The number of the slice, counted from 0.
             */
            slice: number;
        };
        /** VerifiedCheck */
        VerifiedCheck: {
            /**
             * Detail
             * @description What was found.
             */
            detail: string;
            /**
             * Name
             * @description Such as `hub signature`.
             */
            name: string;
            /**
             * Passed
             * @description Whether it holds.
             */
            passed: boolean;
            /**
             * Title
             * @description What holds if it passed.
             */
            title: string;
        };
        /** Verify */
        Verify: {
            /**
             * Replicas
             * @description On how many nodes each slice is run.
             */
            replicas: number;
        };
        /** VersionView */
        VersionView: {
            /**
             * Agent Minimum
             * @description Older agents get no strangers' work.
             */
            agent_minimum: string;
            /**
             * Api
             * @description The version of this API.
             */
            api: string;
            /**
             * Fingerprint
             * @description Of the public key in the certificate that the hub signed itself: `join` and `login` need it in the address.
             */
            fingerprint: string | null;
            /**
             * Money
             * @description Whether work on other people's nodes is paid for here.
             */
            money: boolean;
            /**
             * Version
             * @description The version.
             */
            version: string;
        };
        /**
         * Vouched
         * @description A slice whose result the operator says is right.
         */
        Vouched: {
            /**
             * Job Id
             * @description The id of the job.
             */
            job_id: string;
            /**
             * Slice
             * @description The number of the slice, counted from 0.
             * @default 0
             */
            slice?: number;
        };
        /** VoucherActions */
        VoucherActions: {
            /** @description Let nobody redeem it any more: `POST admin/vouchers/{id}/withdraw`. */
            withdraw: components["schemas"]["ActionView"];
        };
        /** VoucherList */
        VoucherList: {
            /**
             * Items
             * @description What was found, on this page.
             */
            items: components["schemas"]["VoucherView"][];
            /**
             * Next
             * @description The cursor of the following page; null on the last.
             */
            next: string | null;
            /**
             * Total
             * @description How many match in all; null for more than 10,000.
             */
            total: number | null;
        };
        /** VoucherMade */
        VoucherMade: {
            /** @description What an admin may do. */
            actions: components["schemas"]["VoucherActions"];
            /**
             * Code
             * @description Shown now and never again: only a digest is kept.
             */
            code: string;
            /**
             * Created At
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Credits
             * @description How much, in credits.
             */
            credits: string;
            /**
             * Expires At
             * @description When it stops working; null for never.
             */
            expires_at: string | null;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Micros
             * @description How much, in micro-credits.
             */
            micros: number;
            /**
             * Note
             * @description What the person who did it wrote.
             */
            note: string;
            /**
             * Used
             * @description How often it was used.
             */
            used: number;
            /**
             * Uses
             * @description How often it can be used.
             */
            uses: number;
            /**
             * Withdrawn At
             * @description When it was withdrawn; null while it counts.
             */
            withdrawn_at: string | null;
        };
        /** VoucherRequest */
        VoucherRequest: {
            /**
             * Code
             * @description One that is thought up; else the hub makes one that nobody guesses.
             */
            code?: string | null;
            /**
             * Credits
             * @description How much, in credits.
             */
            credits: string | number;
            /**
             * Expires In Days
             * @description After how many days it stops working; null for never.
             */
            expires_in_days?: number | null;
            /**
             * Note
             * @description What the person who did it wrote.
             * @default
             */
            note?: string;
            /**
             * Uses
             * @description How many people may redeem it, each once.
             * @default 1
             */
            uses?: number;
        };
        /** VoucherView */
        VoucherView: {
            /** @description What an admin may do. */
            actions: components["schemas"]["VoucherActions"];
            /**
             * Created At
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Credits
             * @description How much, in credits.
             */
            credits: string;
            /**
             * Expires At
             * @description When it stops working; null for never.
             */
            expires_at: string | null;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Micros
             * @description How much, in micro-credits.
             */
            micros: number;
            /**
             * Note
             * @description What the person who did it wrote.
             */
            note: string;
            /**
             * Used
             * @description How often it was used.
             */
            used: number;
            /**
             * Uses
             * @description How often it can be used.
             */
            uses: number;
            /**
             * Withdrawn At
             * @description When it was withdrawn; null while it counts.
             */
            withdrawn_at: string | null;
        };
        /**
         * WalletView
         * @description In millionths of a credit.
         */
        WalletView: {
            /**
             * Available Micros
             * @description What can be spent or was topped up, in micro-credits.
             */
            available_micros: number;
            /**
             * Balances
             * @description All of these with a sentence on each, in the order in which people read them.
             * @default []
             */
            balances: components["schemas"]["BalanceView"][];
            /**
             * Cashable Micros
             * @description Of the earnings, what can be cashed out now: what nobody can dispute any more.
             * @default 0
             */
            cashable_micros: number;
            /**
             * Cashing Out Micros
             * @description What is on its way out.
             */
            cashing_out_micros: number;
            /**
             * Debt Micros
             * @description What had to be given back and was spent already: the next earnings go there.
             */
            debt_micros: number;
            /**
             * Earnings Micros
             * @description What was earned and can be spent or cashed out.
             */
            earnings_micros: number;
            /**
             * Held Micros
             * @description Set aside for what runs now; what is not used comes back.
             */
            held_micros: number;
            /**
             * Owed To You Micros
             * @description What hosts had to give back to you and had spent: it comes when they have earned it.
             * @default 0
             */
            owed_to_you_micros: number;
            /**
             * Owner Id
             * @description The user or team that it belongs to.
             */
            owner_id: string;
            /**
             * Promotional Micros
             * @description Promotional credit: can be spent, cannot be cashed out.
             */
            promotional_micros: number;
            /**
             * Spendable Micros
             * @description Promotional, available and earnings, which are spent in this order.
             */
            spendable_micros: number;
        };
        /** WebhookReceived */
        WebhookReceived: {
            /**
             * Received
             * @description It is stored.
             * @default true
             * @constant
             */
            received: true;
        };
        /**
         * WhySlice
         * @description Why one slice, or all slices that wait alike, have no node.
         */
        WhySlice: {
            /**
             * Feasible
             * @description Nodes that could run it, were they free and there.
             */
            feasible: number;
            /**
             * Free
             * @description What is not in use now.
             */
            free: number;
            /**
             * Gates
             * @description How many nodes each rule removed, in the order in which they are asked.
             */
            gates: components["schemas"]["GateCount"][];
            /**
             * Misses
             * @description The nodes that come nearest.
             */
            misses: components["schemas"]["Miss"][];
            /**
             * Nodes Total
             * @description All nodes of the pool.
             */
            nodes_total: number;
            /**
             * Position
             * @description How many slices would be served before it.
             */
            position: number;
            /**
             * Relaxations
             * @description The smallest first, one for each field.
             */
            relaxations: components["schemas"]["RelaxationView"][];
            /**
             * Slices
             * @description How many slices.
             */
            slices: number[];
            /**
             * Suggestions
             * @description The words of the relaxations.
             */
            suggestions: string[];
            /**
             * Summary
             * @description The answer in one sentence.
             */
            summary: string;
        };
        /** WhyView */
        WhyView: {
            /**
             * Job Id
             * @description The id of the job.
             */
            job_id: string;
            /** @description In which state it is. */
            state: components["schemas"]["JobState"];
            /**
             * Summary
             * @description The answer in one sentence.
             */
            summary: string;
            /**
             * Waiting
             * @description What still waits.
             */
            waiting: components["schemas"]["WhySlice"][];
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
             */
            memory?: string | null;
            /**
             * Name
             * @description The model, as people write it; of several in a list, any.
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
             */
            memory?: string | null;
            /**
             * Name
             * @description The model.
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
             */
            budget?: string | null;
            /**
             * Checkpoint
             * @description Folder that is saved and restored; or `{path: ckpt, every: 10m}`; default every 5m.
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
             */
            image?: string | null;
            /**
             * Inputs
             * @description Files from stored artifacts or URLs, by the path where the job finds them.
             */
            inputs?: {
                [key: string]: string | components["schemas"]["WireInput"];
            };
            /** @description The least that is accepted: `process`, `bubblewrap`, `container`, `gvisor`. */
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
            /** @description Make a model of the outputs. */
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
             */
            team?: string | null;
            /** @description Run it on several nodes and compare. */
            verify?: components["schemas"]["Verify"] | null;
            /** @description On which nodes it may run. */
            where: components["schemas"]["WireWhere"];
            /**
             * Workdir
             * @description Folder that is sent along, relative to the file; `.gitignore` holds.
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
             */
            min_reliability?: number | null;
            /**
             * Node
             * @description This node alone, by its id.
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
        /** Withdrawn */
        Withdrawn: {
            /**
             * Id
             * @description Its id.
             */
            id: string;
        };
        /**
         * WorkDone
         * @description For others than the nodes' owners.
         */
        WorkDone: {
            /**
             * Attempts
             * @description That ended well.
             */
            attempts: number;
            /**
             * Core Hours
             * @description The same of attempts without a GPU.
             */
            core_hours: number;
            /**
             * Earned Micros
             * @description For all attempts that ended, before anything was given back.
             */
            earned_micros: number | null;
            /**
             * Gpu Hours
             * @description In attempts that ended well.
             */
            gpu_hours: number;
            /**
             * Slices
             * @description Different slices among these attempts.
             */
            slices: number;
        };
        /** WriteOffRequest */
        WriteOffRequest: {
            /**
             * Credits
             * @description All that they owe and do not have, if not said otherwise.
             */
            credits?: string | number | null;
            /**
             * Note
             * @description What the person who did it wrote.
             */
            note: string;
            /**
             * User
             * @description An id, or an e-mail address.
             */
            user: string;
        };
        /** WriteOffView */
        WriteOffView: {
            /**
             * Credits
             * @description How much, in credits.
             */
            credits: string;
            /**
             * Debt Micros
             * @description What they still owe.
             */
            debt_micros: number;
            /**
             * Email
             * @description Of the user; a team has none.
             */
            email: string | null;
            /**
             * Filled Micros
             * @description What the owner had left: it went into the debt before.
             */
            filled_micros: number;
            /**
             * Id
             * @description Its id.
             */
            id: string;
            /**
             * Micros
             * @description What the pool bears.
             */
            micros: number;
            /**
             * Owner Id
             * @description The user or team that it belongs to.
             */
            owner_id: string;
        };
        /** WrittenCheckpoint */
        WrittenCheckpoint: {
            /**
             * Every
             * @description How often it is saved, from 10s to 24h; default 5m.
             * @default null
             */
            every?: (number | string) | null;
            /**
             * Path
             * @description The folder.
             */
            path: string;
        };
        /**
         * WrittenDisk
         * @description As dstack writes a disk.
         */
        WrittenDisk: {
            /**
             * Size
             * @description The same as the size alone.
             * @example 16GB
             * @example 512MB
             * @example 24GB..
             * @example 16GB..32GB
             */
            size: number | string;
        };
        /**
         * WrittenGpu
         * @description Whole GPUs, all alike.
         */
        WrittenGpu: {
            /**
             * Alternatives
             * @description Other models that will do, in the same number.
             * @default null
             */
            alternatives?: components["schemas"]["WrittenGpuChoice"][] | null;
            /**
             * Count
             * @description How many cards; default 1. Of a range such as `1..2` a slice gets the lower end.
             * @default null
             */
            count?: number | string | null;
            /**
             * Memory
             * @description Of each card: `24GB..` for at least so much.
             * @default null
             */
            memory?: (number | string) | null;
            /**
             * Name
             * @description The model, as people write it; of several in a list, any.
             * @default null
             * @example rtx-4090
             * @example A100
             */
            name?: string | number | string[] | null;
        };
        /**
         * WrittenGpuChoice
         * @description Another model that will do as well.
         */
        WrittenGpuChoice: {
            /**
             * Memory
             * @description Of each card.
             * @default null
             */
            memory?: (number | string) | null;
            /**
             * Name
             * @description The model.
             * @default null
             */
            name?: string | number | null;
        };
        /**
         * WrittenInput
         * @description A file that a node fetches from the internet.
         */
        WrittenInput: {
            /**
             * Digest
             * @description The same as `sha256`.
             * @default null
             */
            digest?: string | null;
            /**
             * Sha256
             * @description The digest of what it gives, as 64 hexadecimal digits.
             * @default null
             */
            sha256?: string | null;
            /**
             * Url
             * @description An https address, without a port.
             */
            url: string;
        };
        /**
         * WrittenResources
         * @description What one slice needs. `8` is exactly 8; `8..` is at least 8, and more where its share of the node is more; of
         *     `4..8` it gets 4. What is left out is its share of the node.
         */
        WrittenResources: {
            /**
             * Accelerators
             * @description The same as `gpu`, as SkyPilot writes it.
             * @default null
             */
            accelerators?: number | string | components["schemas"]["WrittenGpu"] | {
                [key: string]: number | null;
            } | (string | number | components["schemas"]["WrittenGpu"])[] | null;
            /**
             * Cpu
             * @description The same as `cpus`.
             * @default null
             */
            cpu?: (number | string) | null;
            /**
             * Cpus
             * @description Cores of one slice: `8`, `8+`, `0.5`; default 1, or its share with a GPU.
             * @default null
             */
            cpus?: (number | string) | null;
            /**
             * Disk
             * @description What one slice may write; default at least 1GB.
             * @default null
             */
            disk?: (number | string) | components["schemas"]["WrittenDisk"] | null;
            /**
             * Disk Size
             * @description The same as `disk`, as SkyPilot writes it.
             * @default null
             */
            disk_size?: (number | string) | null;
            /**
             * Gpu
             * @description Whole GPUs: `24GB..`, `rtx-4090`, `rtx-4090:2`, `A100:80GB:1`, `nvidia`; or `{name, memory, count}`. Of several,
             *     as in `[A100, L4]` or `{A100: 1, L4: 1}`, any will do.
             * @default null
             */
            gpu?: (number | string) | components["schemas"]["WrittenGpu"] | {
                [key: string]: number | null;
            } | (string | number | components["schemas"]["WrittenGpu"])[] | null;
            /**
             * Gpus
             * @description The same as `gpu`.
             * @default null
             */
            gpus?: number | string | components["schemas"]["WrittenGpu"] | {
                [key: string]: number | null;
            } | (string | number | components["schemas"]["WrittenGpu"])[] | null;
            /**
             * Image Id
             * @description The same as `image` of the spec, as SkyPilot writes it, with `docker:` before it.
             * @default null
             */
            image_id?: string | null;
            /**
             * Max Hourly Cost
             * @description The same as `max_price` of the spec, as SkyPilot writes it.
             * @default null
             */
            max_hourly_cost?: (number | string) | null;
            /**
             * Memory
             * @description `16GB`, `512MB`; default at least 1GB. Powers of two; a bare number is gigabytes.
             * @default null
             */
            memory?: (number | string) | null;
            /**
             * Use Spot
             * @description The same as `preemptible` of the spec, as SkyPilot writes it.
             * @default null
             */
            use_spot?: boolean | null;
        };
        /**
         * WrittenSpec
         * @description A job, as people write it. Only `run` is needed. Keys of dstack and SkyPilot are understood.
         * @example {
         *       "outputs": [
         *         "out/"
         *       ],
         *       "resources": {
         *         "gpu": "24GB..",
         *         "memory": "16GB"
         *       },
         *       "run": "python train.py"
         *     }
         * @example {
         *       "max_runtime": "10m",
         *       "run": [
         *         "python",
         *         "-c",
         *         "print(6*7)"
         *       ]
         *     }
         */
        WrittenSpec: {
            /**
             * Budget
             * @description Credits for the whole job.
             * @default null
             */
            budget?: (number | string) | null;
            /**
             * Checkpoint
             * @description Folder that is saved and restored; or `{path: ckpt, every: 10m}`; default every 5m.
             * @default null
             */
            checkpoint?: string | components["schemas"]["WrittenCheckpoint"] | null;
            /**
             * Commands
             * @description The same as `run`, as dstack writes it: line by line, and the first that fails ends the job.
             * @default null
             */
            commands?: string | (number | string)[] | null;
            /**
             * Deterministic
             * @description Two runs give the same outputs.
             * @default null
             */
            deterministic?: boolean | null;
            /**
             * Env
             * @description Variables of the job; a name without a value takes the caller's.
             * @default null
             */
            env?: {
                [key: string]: number | string | null;
            } | string[] | string | null;
            /**
             * Envs
             * @description The same as `env`, as SkyPilot writes it.
             * @default null
             */
            envs?: {
                [key: string]: number | string | null;
            } | string[] | string | null;
            /**
             * File Mounts
             * @description The same as `inputs`, as SkyPilot writes it.
             * @default null
             */
            file_mounts?: {
                [key: string]: string | components["schemas"]["WrittenInput"];
            } | null;
            /**
             * Files
             * @description The same as `inputs`, as dstack writes it: `source:path`.
             * @default null
             * @example [
             *       "artifact_01:data.csv"
             *     ]
             */
            files?: string[] | {
                [key: string]: string | components["schemas"]["WrittenInput"];
            } | null;
            /**
             * Image
             * @description Container image to run in.
             * @default null
             */
            image?: string | null;
            /**
             * Inputs
             * @description Files from stored artifacts or URLs, by the path where the job finds them.
             * @default null
             * @example {
             *       "data/train.csv": "artifact_01"
             *     }
             */
            inputs?: {
                [key: string]: string | components["schemas"]["WrittenInput"];
            } | null;
            /**
             * @description The least that is accepted: `process`, `bubblewrap`, `container`, `gvisor`.
             * @default null
             */
            isolation?: components["schemas"]["IsolationLevel"] | null;
            /**
             * Keep Going
             * @description A line of `run` or `setup` that fails does not end it: the last line's exit code counts.
             * @default null
             */
            keep_going?: boolean | null;
            /**
             * Links
             * @description Absolute paths and paths in `~/`, each leading to a path in the folder where the command runs.
             * @default null
             * @example {
             *       "/data": "data"
             *     }
             */
            links?: {
                [key: string]: string;
            } | null;
            /**
             * Max Duration
             * @description The same as `max_runtime`, as dstack writes it.
             * @default null
             */
            max_duration?: (number | string) | null;
            /**
             * Max Hourly Cost
             * @description The same as `max_price`, as SkyPilot writes it.
             * @default null
             */
            max_hourly_cost?: (number | string) | null;
            /**
             * Max Price
             * @description The most that a slice-hour may cost, in credits; default: a quarter more than was quoted.
             * @default null
             */
            max_price?: (number | string) | null;
            /**
             * Max Runtime
             * @description Of one attempt: `90s`, `2h`, up to 30d; default 24h.
             * @default null
             */
            max_runtime?: (number | string) | null;
            /**
             * Name
             * @description What the job is called.
             * @default null
             */
            name?: string | number | null;
            /**
             * Network
             * @description Whether `run` reaches the internet.
             * @default null
             */
            network?: boolean | null;
            /**
             * Nodes
             * @description How many machines. A job runs on one; parallel parts are `slices`.
             * @default null
             */
            nodes?: 1 | null;
            /**
             * Notify
             * @description Who is told at the end.
             * @default null
             * @example [
             *       "email"
             *     ]
             */
            notify?: string[] | string | null;
            /**
             * Num Nodes
             * @description The same as `nodes`, as SkyPilot writes it.
             * @default null
             */
            num_nodes?: 1 | null;
            /**
             * @description What to save: `cost`, `speed` (time) or `balanced`; default `balanced`.
             * @default null
             */
            optimize?: components["schemas"]["Optimize"] | null;
            /**
             * Outputs
             * @description Globs of files to keep, below the folder where the command runs.
             * @default null
             */
            outputs?: string[] | string | null;
            /**
             * Preemptible
             * @description Costs less, and may lose its slot to other jobs, with a grace to save its checkpoint.
             * @default null
             */
            preemptible?: boolean | null;
            /**
             * Priority
             * @description From -100 to 100, among your own jobs; higher goes first; default 0.
             * @default null
             */
            priority?: number | null;
            /**
             * @description Make a model of the outputs.
             * @default null
             */
            publish?: components["schemas"]["Publish"] | null;
            /**
             * @description What one slice needs.
             * @default null
             */
            resources?: components["schemas"]["WrittenResources"] | null;
            /**
             * Retries
             * @description Retries after failures of the job itself; default 0.
             * @default null
             */
            retries?: number | null;
            /**
             * Run
             * @description Text for bash, or sh where there is none, which ends at the first line that fails; or a list: a program and its
             *     arguments. The only key that is needed.
             * @default null
             */
            run?: string | (number | string)[] | null;
            /**
             * Secrets
             * @description Stored secrets that the job gets.
             * @default null
             */
            secrets?: string[] | string | {
                [key: string]: null;
            } | null;
            /**
             * Setup
             * @description Runs before `run`, to install things.
             * @default null
             */
            setup?: string | null;
            /**
             * Slices
             * @description Parallel parts, up to 10,000; default 1.
             * @default null
             */
            slices?: number | null;
            /**
             * Team
             * @description Whose job it is.
             * @default null
             */
            team?: string | null;
            /**
             * Type
             * @description dstack's kind of file. Only tasks run here.
             * @default null
             */
            type?: "task" | null;
            /**
             * @description Run it on several nodes and compare.
             * @default null
             */
            verify?: components["schemas"]["Verify"] | null;
            /**
             * @description On which nodes it may run.
             * @default null
             */
            where?: components["schemas"]["WrittenWhere"] | null;
            /**
             * Workdir
             * @description Folder that is sent along, relative to the file; `.gitignore` holds.
             * @default null
             */
            workdir?: string | null;
        };
        /**
         * WrittenWhere
         * @description On which nodes a job may run.
         */
        WrittenWhere: {
            /**
             * Country
             * @description Any of these countries, as two letters.
             * @default null
             * @example [
             *       "IN",
             *       "DE"
             *     ]
             */
            country?: string | string[] | null;
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
             * @default null
             */
            tags?: string | string[] | null;
            /**
             * @description Whose nodes: `mine`, `verified`, `any`; default `any`.
             * @default null
             */
            trust?: components["schemas"]["Trust"] | null;
        };
    };
    responses: {
        /** @description Bad request: `bad_request`. */
        Error400: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description Not signed in: `bad_token`, `token_expired`, `token_mistyped`, `token_revoked`, `unauthenticated`, `wrong_token`. */
        Error401: {
            headers: {
                /** @description Always `Bearer`. */
                "WWW-Authenticate"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description Not allowed: `forbidden`, `missing_scope`, `role_too_low`. */
        Error403: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description Not found: `not_found`. */
        Error404: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description Not in this state: `idempotency_mismatch`. */
        Error409: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description Too large: `too_large`. */
        Error413: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description Invalid: `invalid`. */
        Error422: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description Too many requests: `too_many_failures`, `too_many_requests`. */
        Error429: {
            headers: {
                /** @description After how many seconds to try again. */
                "Retry-After"?: number;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The hub made a mistake: `internal`. */
        Error500: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description Not now: `too_busy`, `too_many_connections`, `unavailable`. */
        Error503: {
            headers: {
                /** @description After how many seconds to try again. */
                "Retry-After"?: number;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    verification_list_accusations: {
        parameters: {
            query?: {
                /** @description In this state alone. */
                state?: components["schemas"]["AccusationState"][] | null;
                /** @description The id of a node. */
                node?: string | null;
                /** @description `-`: the newest first. */
                order?: "-created_at" | "created_at";
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccusationPage"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    verification_show_accusation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the accusation. */
                accusation_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccusationView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_accusation`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    verification_confirm_accusation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the accusation. */
                accusation_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Decided"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccusationView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_accusation`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `accusation_decided`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    verification_dismiss_accusation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the accusation. */
                accusation_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Decided"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccusationView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_accusation`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `accusation_decided`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    admin_search_audit: {
        parameters: {
            query?: {
                /** @description The id of a user or a node, an e-mail address, or hub. */
                actor?: string | null;
                /** @description The action, or its beginning such as `cash_out.` */
                action?: string | null;
                /** @description The id of an object, or a user's e-mail address. */
                subject?: string | null;
                /** @description A text in the action, the ids or the details. A page looks through 50,000 records. */
                q?: string | null;
                /** @description The first instant; without a zone it is UTC. */
                since?: string | null;
                /** @description The instant after the last. */
                until?: string | null;
                /** @description `-at`: the newest first. `at`: the oldest first. */
                order?: "-at" | "at";
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditLines"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    admin_list_audit_actions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditActions"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    verification_list_audits: {
        parameters: {
            query?: {
                /** @description In this state alone. */
                state?: ("open" | "valid" | "accused" | "guilty" | "dismissed" | "nondeterm" | "abandoned")[] | null;
                /** @description The id of a node. */
                node?: string | null;
                /** @description `-`: the newest first. */
                order?: "-created_at" | "created_at";
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditPage"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    verification_list_answers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnownAnswers"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    verification_run_canary: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Canary"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CanaryStarted"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_job`, `no_such_node`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `bad_canary`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    verification_vouch_for_answer: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Vouched"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnownAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_job`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `bad_canary`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    verification_withdraw_answer: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the check. */
                check_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Withdrawn"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_canary_answer`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    cash_outs_list_all: {
        parameters: {
            query?: {
                /** @description In this state alone. */
                state?: components["schemas"]["CashOutState"][] | null;
                /** @description The user or team that it belongs to. */
                owner_id?: string | null;
                /** @description `-`: the newest first. */
                order?: "-created_at" | "created_at";
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdminCashOutList"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    cash_outs_show_for_admin: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the cash-out. */
                cash_out_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdminCashOutView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_cash_out`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    cash_outs_approve: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the cash-out. */
                cash_out_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CashOutDecision"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdminCashOutView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_cash_out`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `cash_out_state`, `not_cashable`, `owner_owes`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            /** @description Not now: `cash_outs_frozen`, `too_busy`, `too_many_connections`, `unavailable`. */
            503: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    cash_outs_mark_paid: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the cash-out. */
                cash_out_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PaidByHand"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdminCashOutView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_cash_out`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `cash_out_state`, `paid_by_processor`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            /** @description Not now: `cash_outs_frozen`, `too_busy`, `too_many_connections`, `unavailable`. */
            503: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    cash_outs_reject: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the cash-out. */
                cash_out_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Rejection"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdminCashOutView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_cash_out`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `cash_out_state`, `paid_by_processor`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    cash_outs_reverse: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request repeatable: the same key and the same request are answered alike, once done. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description The id of the cash-out. */
                cash_out_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReversalRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReversalView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_cash_out`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `cash_out_state`, `idempotency_mismatch`, `no_payment_processor`, `nothing_left`, `paid_by_hand`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            /** @description Invalid: `bad_amount`, `invalid`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            /** @description Not now: `processor_away`, `too_busy`, `too_many_connections`, `unavailable`. */
            503: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    reputation_list_contests: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
                /** @description Settled ones too. */
                all?: boolean;
                /** @description The id of a node. */
                node?: string | null;
                /** @description The user or team that it belongs to. */
                owner_id?: string | null;
                /** @description `-`: the newest first. */
                order?: "-at" | "at";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ContestPage"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    reputation_show_contest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the event. */
                event_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ContestView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_event`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    reputation_resolve_contest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the event. */
                event_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ContestDecision"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReliabilityEvent"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_event`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `not_contestable`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    disputes_list_all: {
        parameters: {
            query?: {
                /** @description In this state alone. */
                state?: components["schemas"]["DisputeState"] | null;
                /** @description Of this kind alone. */
                kind?: components["schemas"]["DisputeKind"] | null;
                /** @description The user or team that it belongs to. */
                owner_id?: string | null;
                /** @description `-`: the newest first. */
                order?: "-opened_at" | "opened_at";
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdminDisputeList"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    disputes_show_facts: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the dispute. */
                dispute_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DisputeFacts"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_dispute`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    disputes_resolve: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the dispute. */
                dispute_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DisputeDecision"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdminDisputeView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_dispute`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `bank_decides`, `dispute_resolved`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            /** @description Invalid: `bad_amount`, `invalid`, `more_than_was_paid`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    payments_grant: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request repeatable: the same key and the same request are answered alike, once done. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GrantRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GrantView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `idempotency_mismatch`, `repeated`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            /** @description Invalid: `bad_amount`, `invalid`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    admin_show_ledger: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LedgerState"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    wallet_check_ledger: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LedgerReport"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    admin_check_ledger: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LedgerReport"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    payments_write_off: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request repeatable: the same key and the same request are answered alike, once done. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WriteOffRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WriteOffView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `idempotency_mismatch`, `more_than_owed`, `nothing_owed`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            /** @description Invalid: `bad_amount`, `invalid`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    limits_show: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The user or team that it belongs to. */
                owner_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LimitsView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    limits_set: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The user or team that it belongs to. */
                owner_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LimitsChange"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LimitsView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    mail_list: {
        parameters: {
            query?: {
                /** @description In this state alone. */
                state?: components["schemas"]["MailState"] | null;
                /** @description The id of the user. */
                user_id?: string | null;
                /** @description `-`: the newest first. */
                order?: "-created_at" | "created_at";
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailList"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    mail_send_test: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MailTestRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailTest"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not in this state: `conflict`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            /** @description Not now: `mail_not_sent`, `too_busy`, `too_many_connections`, `unavailable`. */
            503: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    mail_resend: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the mail. */
                mail_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_mail`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `mail_not_given_up`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    market_import_regions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RegionsFile"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TableView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `market_table_changed`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            /** @description Invalid: `bad_market_table`, `invalid`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    market_show_table: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Which table. */
                name: "tiers" | "regions" | "rates";
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TableView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    market_change_table: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Which table. */
                name: "tiers" | "regions" | "rates";
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TableChange"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TableView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `market_table_changed`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            /** @description Invalid: `bad_market_table`, `invalid`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    reputation_unverify_node: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the node. */
                node_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReliabilityView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_node`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    reputation_verify_node: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the node. */
                node_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReliabilityView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_node`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    admin_show_overview: {
        parameters: {
            query?: {
                /** @description For how many days back. */
                days?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Overview"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    payments_list_differences: {
        parameters: {
            query?: {
                /** @description Also what is settled. */
                everything?: boolean;
                /** @description Of this kind alone. */
                kind?: ("missing_here" | "missing_there" | "amount" | "currency" | "stuck") | null;
                /** @description `-`: the newest first. */
                order?: "-found_at" | "found_at";
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DifferenceList"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    payments_settle_difference: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The number of the difference. */
                difference_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DifferenceList"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_difference`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    payments_list_events: {
        parameters: {
            query?: {
                /** @description In this state alone. */
                state?: components["schemas"]["EventState"] | null;
                /** @description `-`: the newest first. */
                order?: "-received_at" | "received_at";
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventList"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    payments_replay_event: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the event. */
                event_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProcessorEvent"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_event`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `no_payment_processor`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    payments_reconcile: {
        parameters: {
            query?: {
                /** @description For how many days back. */
                days?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DifferenceList"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `no_payment_processor`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            /** @description Not now: `processor_away`, `too_busy`, `too_many_connections`, `unavailable`. */
            503: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    payments_list_requests: {
        parameters: {
            query?: {
                /** @description In this state alone. */
                state?: components["schemas"]["RequestState"] | null;
                /** @description Of this kind alone. */
                kind?: components["schemas"]["RequestKind"] | null;
                /** @description The user or team that it belongs to. */
                owner_id?: string | null;
                /** @description `-`: the newest first. */
                order?: "-created_at" | "created_at";
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RequestList"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    admin_list_queue: {
        parameters: {
            query?: {
                /** @description Only these kinds. */
                kind?: components["schemas"]["QueueKind"][] | null;
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueuePage"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    disputes_report: {
        parameters: {
            query?: {
                /** @description From this instant or day on. */
                since?: string | null;
                /** @description Up to this instant or day. */
                until?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Report"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    history_pool_series: {
        parameters: {
            query?: {
                /** @description From this instant on, in ISO 8601. */
                since?: string | null;
                /** @description Up to this instant, in ISO 8601. Default: now. */
                until?: string | null;
                /** @description Seconds of one point. The answer may have a wider step; `step_seconds` tells. */
                step?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PoolSeries"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    settings_list: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SettingList"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    settings_show: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Which table. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SettingView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_setting`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    settings_change: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Which table. */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SettingPut"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SettingView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_setting`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `setting_changed`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            /** @description Invalid: `bad_setting`, `invalid`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    settings_list_changes: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: number | null;
            };
            header?: never;
            path: {
                /** @description Which table. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SettingHistory"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_setting`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    settings_preview: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Which table. */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SettingTry"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SettingPreview"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_setting`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            /** @description Invalid: `bad_setting`, `invalid`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    settings_reset: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Which table. */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SettingReset"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SettingView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_setting`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `setting_changed`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            /** @description Invalid: `bad_setting`, `invalid`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    storage_list_usage: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnersUsage"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    storage_show_owner: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The user or team that it belongs to. */
                owner_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnerUsage"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    storage_set_limits: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The user or team that it belongs to. */
                owner_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StorageLimits"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnerUsage"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    storage_reconcile: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The user or team that it belongs to. */
                owner_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReconciledView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    payments_list_everybodys_top_ups: {
        parameters: {
            query?: {
                /** @description In this state alone. */
                state?: components["schemas"]["TopUpState"] | null;
                /** @description The user or team that it belongs to. */
                owner_id?: string | null;
                /** @description `-`: the newest first. */
                order?: "-created_at" | "created_at";
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdminTopUpList"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    payments_refund_top_up: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request repeatable: the same key and the same request are answered alike, once done. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description The id of the top-up. */
                top_up_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RefundRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RefundView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_top_up`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `idempotency_mismatch`, `insufficient_credits`, `no_payment_processor`, `not_paid`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            /** @description Invalid: `bad_amount`, `invalid`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            /** @description Not now: `processor_away`, `too_busy`, `too_many_connections`, `unavailable`. */
            503: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    accounts_list_users: {
        parameters: {
            query?: {
                /** @description Part of a name or an e-mail address. */
                search?: string | null;
                /** @description Users of this role alone. */
                role?: components["schemas"]["Role"] | null;
                /** @description Only accounts that are disabled, or only others. */
                disabled?: boolean | null;
                /** @description By what; with `-` the other way round. */
                order?: "-created_at" | "created_at" | "email" | "-email" | "name" | "-name";
                /** @description `next` of the page before. */
                cursor?: string | null;
                /** @description Maximum number of items. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserList"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    accounts_show_user: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id or the e-mail address of a user. */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    accounts_disable_user: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id or the e-mail address of a user. */
                user: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DisableRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserDisabled"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            /** @description Not in this state: `last_admin`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    accounts_enable_user: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id or the e-mail address of a user. */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    accounts_change_role: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id or the e-mail address of a user. */
                user: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RoleRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            /** @description Not in this state: `last_admin`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    accounts_list_user_sessions: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description The id or the e-mail address of a user. */
                user: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionList"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    vouchers_list: {
        parameters: {
            query?: {
                /** @description Whether somebody can redeem it now. */
                usable?: boolean | null;
                /** @description `-`: the newest first. */
                order?: "-created_at" | "created_at";
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VoucherList"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    vouchers_make: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request repeatable: the same key and the same request are answered alike, once done. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["VoucherRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VoucherMade"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `code_taken`, `idempotency_mismatch`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            /** @description Invalid: `bad_amount`, `invalid`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    vouchers_list_redemptions: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description The id of the voucher. */
                voucher_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RedemptionList"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_voucher`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    vouchers_withdraw: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the voucher. */
                voucher_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VoucherView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_voucher`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    payments_withdraw: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request repeatable: the same key and the same request are answered alike, once done. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GrantRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GrantView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `idempotency_mismatch`, `insufficient_credits`, `repeated`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            /** @description Invalid: `bad_amount`, `invalid`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    storage_list_artifacts: {
        parameters: {
            query?: {
                /** @description Of this kind alone. */
                kind?: components["schemas"]["ArtifactKind"][] | null;
                /** @description Part of a path, or the beginning of an id or a digest. */
                search?: string | null;
                /** @description What this job left. */
                job?: string | null;
                /** @description What to sort by. */
                order?: components["schemas"]["ArtifactOrder"];
                /** @description `next` of the page before. */
                cursor?: string | null;
                /** @description Maximum number of items. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoragePage"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    artifacts_announce: {
        parameters: {
            query?: {
                /** @description For this team, by handle or id; otherwise for yourself. */
                team?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Announcement"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArtifactView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            /** @description Not paid for: `storage_unpaid`. */
            402: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_team`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too large: `storage_daily_quota`, `storage_quota`, `too_large`. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            /** @description Not now: `storage_unavailable`, `too_busy`, `too_many_connections`, `unavailable`. */
            503: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Storage is full: `storage_full`. */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    artifacts_show: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the artifact. */
                artifact_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArtifactView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            /** @description Not now: `storage_unavailable`, `too_busy`, `too_many_connections`, `unavailable`. */
            503: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    storage_delete_artifact: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the artifact. */
                artifact_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            /** @description Not in this state: `artifact_in_use`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    artifacts_complete: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the artifact. */
                artifact_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArtifactView"];
                };
            };
            401: components["responses"]["Error401"];
            /** @description Not paid for: `storage_unpaid`. */
            402: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            /** @description Not in this state: `size_mismatch`, `upload_incomplete`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too large: `storage_quota`. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Invalid: `digest_mismatch`, `invalid`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            /** @description Not now: `storage_unavailable`, `too_busy`, `too_many_connections`, `unavailable`. */
            503: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Storage is full: `storage_full`. */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    accounts_begin_device_login: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeviceCodeView"];
                };
            };
            422: components["responses"]["Error422"];
            /** @description Too many requests: `too_many_failures`, `too_many_requests`, `too_many_tries`. */
            429: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    accounts_decide_device_login: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeviceApproveRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_user_code`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            /** @description Too many requests: `too_many_failures`, `too_many_requests`, `too_many_tries`. */
            429: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    accounts_look_at_device_login: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeviceLookRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeviceLoginView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_user_code`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            /** @description Too many requests: `too_many_failures`, `too_many_requests`, `too_many_tries`. */
            429: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    accounts_poll_device_login: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeviceTokenRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenPair"];
                };
            };
            /** @description Bad request: `authorization_pending`, `bad_request`, `denied`, `expired`, `slow_down`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            /** @description Too many requests: `too_many_failures`, `too_many_requests`, `too_many_tries`. */
            429: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    accounts_login: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LoginRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenPair"];
                };
            };
            400: components["responses"]["Error400"];
            /** @description Not signed in: `bad_credentials`. */
            401: {
                headers: {
                    /** @description Always `Bearer`. */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            /** @description Too many requests: `too_many_failures`, `too_many_requests`, `too_many_tries`. */
            429: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    accounts_logout: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["LogoutRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Error400"];
            /** @description Not signed in: `bad_refresh_token`, `bad_token`, `refresh_token_reused`, `session_ended`, `token_expired`, `token_mistyped`, `token_revoked`, `unauthenticated`, `wrong_token`. */
            401: {
                headers: {
                    /** @description Always `Bearer`. */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: components["responses"]["Error404"];
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    accounts_sign_in_once: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OneTimeRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenPair"];
                };
            };
            400: components["responses"]["Error400"];
            /** @description Not signed in: `bad_sign_in_link`. */
            401: {
                headers: {
                    /** @description Always `Bearer`. */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            /** @description Too many requests: `too_many_failures`, `too_many_requests`, `too_many_tries`. */
            429: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    accounts_refresh: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RefreshRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenPair"];
                };
            };
            400: components["responses"]["Error400"];
            /** @description Not signed in: `bad_refresh_token`, `bad_token`, `refresh_token_reused`, `session_ended`, `token_expired`, `token_mistyped`, `token_revoked`, `wrong_token`. */
            401: {
                headers: {
                    /** @description Always `Bearer`. */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not allowed: `foreign_page`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    accounts_register: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RegisterRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenPair"];
                };
            };
            400: components["responses"]["Error400"];
            /** @description Not allowed: `registration_closed`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `email_taken`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            /** @description Too many requests: `too_many_failures`, `too_many_requests`, `too_many_tries`. */
            429: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    public_config: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    /** @description Send it as `If-None-Match` to ask whether it changed. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConfigView"];
                };
            };
            /** @description The copy with the `ETag` that was sent is good. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    disputes_list: {
        parameters: {
            query?: {
                /** @description In this state alone. */
                state?: components["schemas"]["DisputeState"] | null;
                /** @description `-`: the newest first. */
                order?: "-opened_at" | "opened_at";
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DisputeList"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    disputes_show: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the dispute. */
                dispute_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DisputeView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_dispute`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    events_listen: {
        parameters: {
            query?: {
                /** @description The id of the last event that was read. */
                after?: string | null;
                /** @description Whether to wait for what comes; `false` ends with what is there. */
                follow?: boolean;
            };
            header?: {
                /** @description The id of the last event that was read. */
                "last-event-id"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events, whose data are messages as JSON; `events/schema` has their schema. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            422: components["responses"]["Error422"];
            /** @description Too many requests: `too_many_failures`, `too_many_requests`, `too_many_streams`. */
            429: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    events_schema: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/schema+json": Record<string, never>;
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    jobs_download_log: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the attempt. */
                attempt_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The log, as a file. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description Not signed in: `signature_missing`. */
            401: {
                headers: {
                    /** @description Always `Bearer`. */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not allowed: `signature_refused`, `url_expired`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not found: `not_found`, `removed`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            /** @description Not now: `storage_unavailable`, `too_busy`, `too_many_connections`, `unavailable`. */
            503: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    jobs_download_output: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the artifact. */
                artifact_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description The part that `Range` asked for. */
            206: {
                headers: {
                    /** @description Which part it is. */
                    "Content-Range"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description Not signed in: `signature_missing`. */
            401: {
                headers: {
                    /** @description Always `Bearer`. */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not allowed: `signature_refused`, `url_expired`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: components["responses"]["Error404"];
            /** @description Not a part of it: `invalid`. */
            416: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            /** @description Not now: `storage_unavailable`, `too_busy`, `too_many_connections`, `unavailable`. */
            503: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    jobs_preview_output: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the artifact. */
                artifact_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                    "audio/flac": string;
                    "audio/mp4": string;
                    "audio/mpeg": string;
                    "audio/ogg": string;
                    "audio/wav": string;
                    "image/avif": string;
                    "image/bmp": string;
                    "image/gif": string;
                    "image/jpeg": string;
                    "image/png": string;
                    "image/svg+xml": string;
                    "image/webp": string;
                    "text/plain": string;
                    "video/mp4": string;
                    "video/ogg": string;
                    "video/webm": string;
                };
            };
            /** @description The part that `Range` asked for. */
            206: {
                headers: {
                    /** @description Which part it is. */
                    "Content-Range"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                    "audio/flac": string;
                    "audio/mp4": string;
                    "audio/mpeg": string;
                    "audio/ogg": string;
                    "audio/wav": string;
                    "image/avif": string;
                    "image/bmp": string;
                    "image/gif": string;
                    "image/jpeg": string;
                    "image/png": string;
                    "image/svg+xml": string;
                    "image/webp": string;
                    "text/plain": string;
                    "video/mp4": string;
                    "video/ogg": string;
                    "video/webm": string;
                };
            };
            /** @description Not signed in: `signature_missing`. */
            401: {
                headers: {
                    /** @description Always `Bearer`. */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not allowed: `signature_refused`, `url_expired`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: components["responses"]["Error404"];
            /** @description Not a part of it: `invalid`. */
            416: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            /** @description Not now: `storage_unavailable`, `too_busy`, `too_many_connections`, `unavailable`. */
            503: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    jobs_download_zip: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the job. */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/zip": string;
                };
            };
            /** @description Not signed in: `signature_missing`. */
            401: {
                headers: {
                    /** @description Always `Bearer`. */
                    "WWW-Authenticate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not allowed: `signature_refused`, `url_expired`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not found: `no_such_job`, `not_found`, `removed`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            /** @description Not now: `storage_unavailable`, `too_busy`, `too_many_connections`, `unavailable`. */
            503: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    teams_accept_invitation: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AcceptRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TeamView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            /** @description Not allowed: `forbidden`, `invitation_of_another`, `missing_scope`, `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not found: `bad_invitation`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `team_limit`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    jobs_list: {
        parameters: {
            query?: {
                /** @description Jobs in one of these states. */
                state?: components["schemas"]["JobState"][] | null;
                /** @description A part of the name, or the beginning of an id (8 letters or more). See `searched_since` in the answer. */
                search?: string | null;
                /** @description Jobs of this user or team: for admins. */
                owner_id?: string | null;
                /**
                 * @deprecated
                 * @description An older name of `owner_id`.
                 */
                owner?: string | null;
                /** @description Not those of others that an admin sees. */
                mine?: boolean;
                /** @description Submitted then or later. */
                since?: string | null;
                /** @description Submitted before then. */
                until?: string | null;
                /** @description Jobs with an attempt on this node: its id or name. */
                node?: string | null;
                /** @description Jobs that ask for this model of GPU, such as `rtx-4090`. */
                gpu?: string | null;
                /** @description Jobs on simulated nodes alone, or all others. */
                simulated?: boolean | null;
                /** @description Jobs that run this one again. */
                retry_of?: string | null;
                /** @description What to sort by; with `-` the largest or newest first. `finished`: jobs that ended. */
                order?: components["schemas"]["JobOrder"];
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobPage"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    jobs_submit: {
        parameters: {
            query?: {
                /** @description The id of a stored artifact: an archive that is unpacked where the command runs. */
                bundle?: string | null;
            };
            header?: {
                /** @description Makes the request repeatable: the same key and the same request are answered alike, once done. */
                "Idempotency-Key"?: string | null;
                /** @description The caller's signature of the job: a node of theirs may take only such jobs for theirs. Made by the CLI. */
                "X-Computepool-Own-Job"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        /** @description What to run; or what to run and an archive that is unpacked where the command runs. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["WrittenSpec"];
                "multipart/form-data": {
                    /**
                     * Format: binary
                     * @description An archive: tar, tar.gz or zip.
                     */
                    bundle: string;
                    /** @description The spec, as JSON. */
                    spec: string;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            /** @description Not paid for: `storage_unpaid`. */
            402: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_team`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `idempotency_mismatch`, `queue_full`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too large: `storage_daily_quota`, `storage_quota`, `too_large`. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Invalid: `bad_bundle`, `bad_inputs`, `bad_signature`, `bad_spec`, `invalid`, `not_supported_yet`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too many requests: `too_many_bundles`, `too_many_failures`, `too_many_requests`. */
            429: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: components["responses"]["Error500"];
            /** @description Not now: `storage_unavailable`, `too_busy`, `too_many_connections`, `unavailable`. */
            503: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Storage is full: `storage_full`. */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    jobs_check: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description A spec as JSON, or as YAML text. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["WrittenSpec"];
                "application/yaml": string;
                "text/plain": string;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SpecCheck"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    jobs_show: {
        parameters: {
            query?: {
                /** @description The first slice to show. */
                from_slice?: number;
                /** @description Maximum number of slices. */
                slice_limit?: number;
            };
            header?: never;
            path: {
                /** @description The id of the job. */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_job`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    storage_delete_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the job. */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_job`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `job_disputed`, `job_not_final`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    jobs_list_artifacts: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description The id of the job. */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OutputPage"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_job`, `not_found`, `removed`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            /** @description Not now: `storage_unavailable`, `too_busy`, `too_many_connections`, `unavailable`. */
            503: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    jobs_cancel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the job. */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_job`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    verification_show_checks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the job. */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobChecks"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_job`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    jobs_clone: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the job. */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CloneView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_job`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Invalid: `bad_bundle`, `invalid`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    disputes_open: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request repeatable: the same key and the same request are answered alike, once done. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description The id of the job. */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DisputeRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DisputeView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_job`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `disputed_before`, `idempotency_mismatch`, `job_not_finished`, `nothing_paid`, `too_late_to_dispute`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    wallet_explain_job: {
        parameters: {
            query?: {
                /** @description As the renter or as the host. */
                view?: ("renter" | "host") | null;
                /** @description The first slice to show. */
                from_slice?: number;
                /** @description Maximum number of slices. */
                slice_limit?: number;
            };
            header?: never;
            path: {
                /** @description The id of the job. */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Explained"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_job`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    jobs_read_logs: {
        parameters: {
            query?: {
                /** @description The byte of the log to begin with. */
                after?: number;
                /** @description The number of the slice, counted from 0. */
                slice?: number;
                /** @description The number of the attempt; the last one where it is left out. */
                attempt?: number | null;
                /** @description Only what comes before this byte of the log. */
                before?: number | null;
                /** @description The last so many lines, or those before `before`. */
                tail?: number | null;
                /** @description Maximum number of items. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The id of the job. */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A piece of the log. */
            200: {
                headers: {
                    /** @description The number of the attempt. */
                    "X-Attempt"?: number;
                    /** @description With `tail` or `before`: the number of the line that it is in, counted from 1. */
                    "X-First-Line"?: number;
                    /** @description With `tail` or `before`: the offset of the first byte of the body. */
                    "X-First-Offset"?: number;
                    /** @description The bytes of the log, so far. */
                    "X-Log-Bytes"?: number;
                    /** @description `1` if no more can come. */
                    "X-Log-Complete"?: "0" | "1";
                    /** @description The byte to go on with. */
                    "X-Next-Offset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_job`, `not_found`, `removed`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            /** @description Not now: `storage_unavailable`, `too_busy`, `too_many_connections`, `unavailable`. */
            503: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    jobs_show_log_info: {
        parameters: {
            query?: {
                /** @description The number of the slice, counted from 0. */
                slice?: number;
                /** @description The number of the attempt; the last one where it is left out. */
                attempt?: number | null;
            };
            header?: never;
            path: {
                /** @description The id of the job. */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogInfo"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_job`, `not_found`, `removed`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            /** @description Not now: `storage_unavailable`, `too_busy`, `too_many_connections`, `unavailable`. */
            503: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    jobs_read_whole_log: {
        parameters: {
            query?: {
                /** @description The byte of the log to begin with. */
                after?: number;
                /** @description The number of the slice, counted from 0. */
                slice?: number;
                /** @description The number of the attempt; the last one where it is left out. */
                attempt?: number | null;
                /** @description Only what comes before this byte of the log. */
                before?: number | null;
            };
            header?: never;
            path: {
                /** @description The id of the job. */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of it. */
            200: {
                headers: {
                    /** @description The number of the attempt. */
                    "X-Attempt"?: number;
                    /** @description The bytes of the log, so far. */
                    "X-Log-Bytes"?: number;
                    /** @description `1` if no more can come. */
                    "X-Log-Complete"?: "0" | "1";
                    /** @description The byte to go on with. */
                    "X-Next-Offset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_job`, `not_found`, `removed`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            /** @description Not now: `storage_unavailable`, `too_busy`, `too_many_connections`, `unavailable`. */
            503: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    jobs_list_receipts: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description The id of the job. */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReceiptPage"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_job`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    jobs_retry: {
        parameters: {
            query?: {
                /** @description Everything: also what was decided, or what succeeded. */
                all?: boolean;
            };
            header?: {
                /** @description Makes the request repeatable: the same key and the same request are answered alike, once done. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description The id of the job. */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_job`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `idempotency_mismatch`, `job_not_final`, `queue_full`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Invalid: `bad_bundle`, `bad_inputs`, `bad_signature`, `invalid`, `not_supported_yet`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    shares_list: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the job. */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShareList"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_job`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    shares_create: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the job. */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ShareRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewShare"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_job`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `conflict`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    shares_revoke: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the job. */
                job_id: string;
                /** @description The id of the link. */
                share_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_job`, `no_such_share`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    jobs_show_slices: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the job. */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SliceGrid"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_job`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    history_job_timeline: {
        parameters: {
            query?: {
                /** @description The number of the slice, counted from 0. */
                slice?: number | null;
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: number | null;
            };
            header?: never;
            path: {
                /** @description The id of the job. */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobTimeline"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_job`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    history_job_usage: {
        parameters: {
            query?: {
                /** @description The number of the slice, counted from 0. */
                slice?: number;
                /** @description The number of the attempt; the last one where it is left out. */
                attempt?: number | null;
                /** @description From this instant on, in ISO 8601. */
                since?: string | null;
                /** @description Up to this instant, in ISO 8601. Default: now. */
                until?: string | null;
                /** @description Seconds of one point. The answer may have a wider step; `step_seconds` tells. */
                step?: number | null;
            };
            header?: never;
            path: {
                /** @description The id of the job. */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AttemptUsageView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_job`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    jobs_verify: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description The id of the job. */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobVerification"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_job`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `no_receipt`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    jobs_why: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the job. */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhyView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_job`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    public_keys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    /** @description Send it as `If-None-Match` to ask whether it changed. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeysView"];
                };
            };
            /** @description The copy with the `ETag` that was sent is good. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    public_leaderboard: {
        parameters: {
            query?: {
                /** @description The last 7 or 30 days, or all. */
                period?: "7d" | "30d" | "all";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    /** @description Send it as `If-None-Match` to ask whether it changed. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LeaderboardView"];
                };
            };
            /** @description The copy with the `ETag` that was sent is good. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    public_show_map: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    /** @description Send it as `If-None-Match` to ask whether it changed. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MapView"];
                };
            };
            /** @description The copy with the `ETag` that was sent is good. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    market_earnings: {
        parameters: {
            query?: {
                /** @description The name of a card; each of the table where it is left out. */
                gpu?: string | null;
                /** @description As two letters of ISO 3166. */
                country?: string | null;
                /** @description What the card draws; the maker's figure where it is left out. */
                power_watts?: number | null;
                /** @description Credits for a kilowatt-hour. */
                tariff?: string | null;
                /** @description The share of the time that is assumed to be paid, from 0 to 1. */
                utilisation?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EarningsList"];
                };
            };
            /** @description Not found: `money_off`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    market_filters: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    /** @description Send it as `If-None-Match` to ask whether it changed. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OfferFilters"];
                };
            };
            /** @description The copy with the `ETag` that was sent is good. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    market_show_node: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the node. */
                node_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    /** @description Send it as `If-None-Match` to ask whether it changed. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MarketNodeView"];
                };
            };
            /** @description The copy with the `ETag` that was sent is good. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not found: `no_such_node`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    market_offers: {
        parameters: {
            query?: {
                /** @description Which nodes, such as `gpu=rtx-4090 reliability>0.9 price<40`. */
                filter?: string;
                /** @description Fields to sort by, such as `price` or `-reliability,price`. */
                order?: string;
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
                /** @description `gpu=`: Nodes that have such a card. */
                gpu?: string | null;
                /** @description `gpus>=`: How many GPUs the node has. */
                min_gpus?: string | null;
                /** @description `gpus_free>=`: How many of them nobody uses now. */
                min_gpus_free?: string | null;
                /** @description `gpu_memory>=`: Memory of the node's smallest card. */
                min_vram?: string | null;
                /** @description `cpus>=`: Cores that the node has. */
                min_cpus?: string | null;
                /** @description `memory>=`: Memory that the node has. */
                min_memory?: string | null;
                /** @description `disk>=`: Disk space that the node has. */
                min_disk?: string | null;
                /** @description `price<=`: Credits for an hour of one GPU; of one core, where the node has no GPU. */
                max_price?: string | null;
                /** @description `core_price<=`: Credits for an hour of one core, where no GPU is asked for. */
                max_core_price?: string | null;
                /** @description `price_per_tflops<=`: Credits for an hour of one measured teraflop a second. Nodes that were not measured come last. */
                max_price_per_tflops?: string | null;
                /** @description `gflops>=`: Billions of operations a second of one GPU, or one core, as the hub measured it. */
                min_gflops?: string | null;
                /** @description `reliability>=`: The lower bound of the share of attempts that the node brings to a good end, from 0 to 1. */
                min_reliability?: string | null;
                /** @description `tier=`: The multiplier of the node's cards; 0 without a GPU. */
                tier?: string | null;
                /** @description `tier>=`: The multiplier of the node's cards; 0 without a GPU. */
                min_tier?: string | null;
                /** @description `country=`: Two letters, or several with commas. */
                country?: string | null;
                /** @description `region=`: One of the pool's regions. */
                region?: string | null;
                /** @description `tag=`: A word that its owner gave the node. */
                tag?: string | null;
                /** @description `isolation>=`: The strongest level that strangers' jobs get there. Levels are ordered. */
                min_isolation?: string | null;
                /** @description `verified=`: The operator checked its owner, its hardware was measured, and it has a record. */
                verified?: string | null;
                /** @description `simulated=`: Simulated nodes have no real hardware. They are left out unless they are asked for. */
                simulated?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    /** @description Send it as `If-None-Match` to ask whether it changed. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OfferPage"];
                };
            };
            /** @description The copy with the `ETag` that was sent is good. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not found: `money_off`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Invalid: `bad_filter`, `invalid`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    market_prices: {
        parameters: {
            query?: {
                /** @description For how long back, such as `24h`. */
                history?: string | null;
                /** @description This tier alone. */
                tier?: string | null;
                /** @description This region alone. */
                region?: string | null;
                /** @description Simulated nodes instead of real ones. */
                simulated?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    /** @description Send it as `If-None-Match` to ask whether it changed. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Prices"];
                };
            };
            /** @description The copy with the `ETag` that was sent is good. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not found: `money_off`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    market_prices_over_time: {
        parameters: {
            query?: {
                /** @description This tier alone. */
                tier?: string | null;
                /** @description This region alone. */
                region?: string | null;
                /** @description Simulated nodes instead of real ones. */
                simulated?: boolean;
                /** @description From this instant on, in ISO 8601. */
                since?: string | null;
                /** @description Up to this instant, in ISO 8601. Default: now. */
                until?: string | null;
                /** @description Seconds of one point. The answer may have a wider step; `step_seconds` tells. */
                step?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PriceHistory"];
                };
            };
            /** @description Not found: `money_off`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    market_quote: {
        parameters: {
            query?: {
                /** @description The id of the key that will sign the job. */
                signed_by?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description A spec as JSON, or as YAML text. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["WrittenSpec"];
                "application/yaml": string;
                "text/plain": string;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Quote"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_team`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            /** @description Invalid: `bad_spec`, `invalid`, `not_supported_yet`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    accounts_me: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MeView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    accounts_change_me: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MeChange"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MeView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            /** @description Not in this state: `handle_limit`, `handle_taken`, `public_name_taken`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    limits_show_own: {
        parameters: {
            query?: {
                /** @description For this team, by handle or id; otherwise for yourself. */
                team?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LimitsView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_team`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    accounts_change_password: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PasswordRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenPair"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            /** @description Not allowed: `forbidden`, `missing_scope`, `needs_sign_in`, `role_too_low`, `wrong_password`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: components["responses"]["Error404"];
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            /** @description Too many requests: `too_many_failures`, `too_many_requests`, `too_many_tries`. */
            429: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    storage_show_usage: {
        parameters: {
            query?: {
                /** @description For this team, by handle or id; otherwise for yourself. */
                team?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UsageView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_team`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    nodes_list: {
        parameters: {
            query?: {
                /** @description In this state alone. */
                state?: components["schemas"]["NodeState"] | null;
                /** @description Part of a name or of an id. */
                search?: string | null;
                /** @description Of this owner alone, for an admin. */
                owner_id?: string | null;
                /**
                 * @deprecated
                 * @description An older name of `owner_id`.
                 */
                owner?: string | null;
                /** @description With a card of this name. */
                gpu?: string | null;
                /** @description As two letters of ISO 3166. */
                country?: string | null;
                /** @description With this tag. */
                tag?: string | null;
                /** @description Simulated nodes alone, or real ones. */
                simulated?: boolean | null;
                /** @description What to sort by; with `-` the other way round. */
                order?: "created" | "-created" | "name" | "-name" | "state" | "-state";
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodePage"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    nodes_enroll: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EnrolRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EnrolReply"];
                };
            };
            400: components["responses"]["Error400"];
            /** @description Not found: `no_such_node`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `key_taken`, `replaced_already`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            /** @description Invalid: `bad_join_token`, `bad_proof`, `invalid`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too many requests: `too_many_failures`, `too_many_requests`, `too_many_tries`. */
            429: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    nodes_list_join_tokens: {
        parameters: {
            query?: {
                /** @description Only those that machines can still join with. */
                usable?: boolean;
                /** @description `-`: the newest first. */
                order?: "-created_at" | "created_at";
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JoinTokenPage"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    nodes_create_join_token: {
        parameters: {
            query?: {
                /** @description For this team, by handle or id; otherwise for yourself. */
                team?: string | null;
            };
            header?: {
                /** @description Makes the request repeatable: the same key and the same request are answered alike, once done. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewJoinToken"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JoinTokenView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_team`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    nodes_revoke_join_token: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the token. */
                token_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JoinTokenItem"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_join_token`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    nodes_show: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the node. */
                node_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_node`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    nodes_change: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the node. */
                node_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NodeChange"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_node`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `node_state`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    history_node_attempts: {
        parameters: {
            query?: {
                /** @description Those that it has now, or those that have ended. */
                running?: boolean | null;
                /** @description `-`: the newest first. */
                order?: "-leased_at" | "leased_at";
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description The id of the node. */
                node_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeAttemptPage"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_node`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    nodes_ban: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the node. */
                node_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_node`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `node_state`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    nodes_drain: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the node. */
                node_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_node`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `node_state`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    nodes_replace_key: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the node. */
                node_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NodeKeyRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeKeyReply"];
                };
            };
            400: components["responses"]["Error400"];
            /** @description Not allowed: `key_ended`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not found: `no_such_node`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `key_taken`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            /** @description Invalid: `bad_proof`, `invalid`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    nodes_pause: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the node. */
                node_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PauseRequest"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodePolicyView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_node`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `node_state`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    nodes_show_policy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the node. */
                node_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodePolicyView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_node`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    nodes_change_policy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the node. */
                node_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PolicyEdit"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodePolicyView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_node`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `node_state`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    nodes_preview_price: {
        parameters: {
            query?: {
                /** @description For an hour, fee included. Default: what is asked now. */
                price_micros?: number | null;
            };
            header?: never;
            path: {
                /** @description The id of the node. */
                node_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PricePreview"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_node`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `node_state`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    reputation_show_reliability: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description The id of the node. */
                node_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HistoryPage"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_node`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    reputation_contest_event: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the node. */
                node_id: string;
                /** @description The id of the event. */
                event_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Contest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReliabilityEvent"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_event`, `no_such_node`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `not_contestable`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    nodes_resume: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the node. */
                node_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_node`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `node_state`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    history_node_telemetry: {
        parameters: {
            query?: {
                /** @description From this instant on, in ISO 8601. */
                since?: string | null;
                /** @description Up to this instant, in ISO 8601. Default: now. */
                until?: string | null;
                /** @description Seconds of one point. The answer may have a wider step; `step_seconds` tells. */
                step?: number | null;
            };
            header?: never;
            path: {
                /** @description The id of the node. */
                node_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeTelemetry"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_node`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    nodes_unpause: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the node. */
                node_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodePolicyView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_node`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `node_state`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    notices_list: {
        parameters: {
            query?: {
                /** @description Only those that were not read yet. */
                unread?: boolean;
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NoticePage"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    notices_mark_read: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReadNotices"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UnreadNotices"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    payments_receive_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookReceived"];
                };
            };
            /** @description Not allowed: `bad_signature`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not found: `money_off`, `no_payment_processor`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    public_catalog: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    /** @description Send it as `If-None-Match` to ask whether it changed. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CatalogView"];
                };
            };
            /** @description The copy with the `ETag` that was sent is good. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    events_listen_to_pool: {
        parameters: {
            query?: {
                /** @description Whether to wait for what comes; `false` ends with what is there. */
                follow?: boolean;
                /** @description Whether to tell the map too. */
                map?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events, whose data are messages as JSON; `events/schema` has their schema. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            422: components["responses"]["Error422"];
            /** @description Too many requests: `too_many_failures`, `too_many_requests`, `too_many_streams`. */
            429: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    shares_show_shared: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The token in the link. */
                token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SharedJob"];
                };
            };
            /** @description Not found: `no_such_share`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    shares_read_shared_log: {
        parameters: {
            query?: {
                /** @description The byte to begin with. */
                after?: number;
                /** @description Of this slice. */
                slice?: number;
            };
            header?: never;
            path: {
                /** @description The token in the link. */
                token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A piece of the log. */
            200: {
                headers: {
                    /** @description `1` if no more can come. */
                    "X-Log-Complete"?: "0" | "1";
                    /** @description The byte to go on with. */
                    "X-Next-Offset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description Not found: `no_such_share`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            /** @description Not now: `storage_unavailable`, `too_busy`, `too_many_connections`, `unavailable`. */
            503: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    shares_list_shared_outputs: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description The token in the link. */
                token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SharedOutputs"];
                };
            };
            /** @description Not found: `no_such_share`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    accounts_list_sessions: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionList"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    accounts_end_sessions: {
        parameters: {
            query?: {
                /** @description All but the session of this very request. */
                keep_current?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    accounts_end_session: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the session. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    public_stats: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    /** @description Send it as `If-None-Match` to ask whether it changed. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PublicStats"];
                };
            };
            /** @description The copy with the `ETag` that was sent is good. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    teams_list: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TeamList"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    teams_create: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TeamRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TeamView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            /** @description Not in this state: `handle_taken`, `team_limit`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    teams_show: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The team, by its handle or id. */
                team: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TeamView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_team`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    teams_change: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The team, by its handle or id. */
                team: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TeamChange"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TeamView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_team`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `handle_limit`, `handle_taken`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    teams_list_invitations: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The team, by its handle or id. */
                team: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvitationList"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_team`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    teams_invite: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The team, by its handle or id. */
                team: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["InvitationRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewInvitationView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            /** @description Not allowed: `forbidden`, `missing_scope`, `more_than_you_have`, `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not found: `no_such_team`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `team_limit`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    teams_revoke_invitation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The team, by its handle or id. */
                team: string;
                /** @description The id of the invitation. */
                invitation_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_team`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    teams_leave: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The team, by its handle or id. */
                team: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_team`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `last_owner`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    teams_list_members: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description The team, by its handle or id. */
                team: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemberList"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_team`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    teams_remove_member: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The team, by its handle or id. */
                team: string;
                /** @description The id of the user. */
                user_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `no_such_team`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `last_owner`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    teams_change_member: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The team, by its handle or id. */
                team: string;
                /** @description The id of the user. */
                user_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MemberChange"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemberView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            /** @description Not allowed: `forbidden`, `missing_scope`, `more_than_you_have`, `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not found: `no_such_team`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `last_owner`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    teams_create_service_account: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The team, by its handle or id. */
                team: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ServiceAccountRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServiceTokenView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            /** @description Not allowed: `forbidden`, `missing_scope`, `more_than_you_have`, `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not found: `no_such_team`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `team_limit`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    teams_create_service_token: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The team, by its handle or id. */
                team: string;
                /** @description The id of the user. */
                user_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ServiceTokenRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServiceTokenView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            /** @description Not allowed: `forbidden`, `missing_scope`, `more_than_you_have`, `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not found: `no_such_team`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `token_limit`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    accounts_list_tokens: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenList"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    accounts_create_token: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request repeatable: the same key and the same request are answered alike, once done. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TokenRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewTokenView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            /** @description Not allowed: `forbidden`, `missing_scope`, `more_than_you_have`, `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: components["responses"]["Error404"];
            /** @description Not in this state: `idempotency_mismatch`, `token_limit`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    accounts_revoke_token: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the token. */
                token_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    public_version: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    /** @description Send it as `If-None-Match` to ask whether it changed. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionView"];
                };
            };
            /** @description The copy with the `ETag` that was sent is good. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    wallet_show: {
        parameters: {
            query?: {
                /** @description The user or team that it belongs to. */
                owner_id?: string | null;
                /** @description For this team, by handle or id; otherwise for yourself. */
                team?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WalletView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_team`, `no_such_wallet`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    payments_save_card: {
        parameters: {
            query?: {
                /** @description For this team, by handle or id; otherwise for yourself. */
                team?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CardView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_team`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `no_payment_processor`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            /** @description Not now: `processor_away`, `too_busy`, `too_many_connections`, `unavailable`. */
            503: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    payments_forget_card: {
        parameters: {
            query?: {
                /** @description For this team, by handle or id; otherwise for yourself. */
                team?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_team`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `no_payment_processor`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            /** @description Not now: `processor_away`, `too_busy`, `too_many_connections`, `unavailable`. */
            503: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    cash_outs_list: {
        parameters: {
            query?: {
                /** @description In this state alone. */
                state?: components["schemas"]["CashOutState"][] | null;
                /** @description The user or team that it belongs to. */
                owner_id?: string | null;
                /** @description `-`: the newest first. */
                order?: "-created_at" | "created_at";
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
                /** @description For this team, by handle or id; otherwise for yourself. */
                team?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CashOutList"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_team`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    cash_outs_request: {
        parameters: {
            query?: {
                /** @description For this team, by handle or id; otherwise for yourself. */
                team?: string | null;
            };
            header?: {
                /** @description Makes the request repeatable: the same key and the same request are answered alike, once done. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CashOutRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CashOutView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_team`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `idempotency_mismatch`, `no_payout_account`, `not_cashable`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            /** @description Invalid: `bad_amount`, `below_minimum`, `invalid`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            /** @description Not now: `cash_outs_frozen`, `too_busy`, `too_many_connections`, `unavailable`. */
            503: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    cash_outs_show: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the cash-out. */
                cash_out_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CashOutView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_cash_out`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    cash_outs_cancel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the cash-out. */
                cash_out_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CashOutView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_cash_out`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `cash_out_state`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    wallet_earnings: {
        parameters: {
            query?: {
                /** @description From this instant or day on. */
                since?: string | null;
                /** @description Up to this instant or day. */
                until?: string | null;
                /** @description The id of a node. */
                node?: string | null;
                /** @description The user or team that it belongs to. */
                owner_id?: string | null;
                /** @description For this team, by handle or id; otherwise for yourself. */
                team?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EarningsView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_team`, `no_such_wallet`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    wallet_entries: {
        parameters: {
            query?: {
                /** @description Of this kind alone. */
                kind?: string[] | null;
                /** @description The id of a job. */
                job?: string | null;
                /** @description The id of a node. */
                node?: string | null;
                /** @description From this instant or day on. */
                since?: string | null;
                /** @description Up to this instant or day. */
                until?: string | null;
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
                /** @description The user or team that it belongs to. */
                owner_id?: string | null;
                /** @description For this team, by handle or id; otherwise for yourself. */
                team?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EntriesPage"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_team`, `no_such_wallet`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    payments_show: {
        parameters: {
            query?: {
                /** @description For this team, by handle or id; otherwise for yourself. */
                team?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PaymentsView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_team`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    payments_show_payout_account: {
        parameters: {
            query?: {
                /** @description For this team, by handle or id; otherwise for yourself. */
                team?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PayoutAccountView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_team`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            /** @description Not now: `processor_away`, `too_busy`, `too_many_connections`, `unavailable`. */
            503: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    payments_begin_payout_account: {
        parameters: {
            query?: {
                /** @description For this team, by handle or id; otherwise for yourself. */
                team?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AccountRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PayoutAccountView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_team`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `no_payment_processor`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            /** @description Not now: `processor_away`, `too_busy`, `too_many_connections`, `unavailable`. */
            503: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    payments_set_plan: {
        parameters: {
            query?: {
                /** @description For this team, by handle or id; otherwise for yourself. */
                team?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PlanRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_team`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `no_payment_processor`, `no_saved_card`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            /** @description Invalid: `bad_amount`, `invalid`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    wallet_statement_periods: {
        parameters: {
            query?: {
                /** @description The user or team that it belongs to. */
                owner_id?: string | null;
                /** @description For this team, by handle or id; otherwise for yourself. */
                team?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StatementPeriods"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_team`, `no_such_wallet`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    wallet_statement: {
        parameters: {
            query?: {
                /** @description How the statement is written. */
                format?: "json" | "csv" | "pdf";
                /** @description The user or team that it belongs to. */
                owner_id?: string | null;
                /** @description For this team, by handle or id; otherwise for yourself. */
                team?: string | null;
            };
            header?: never;
            path: {
                /** @description A month such as `2026-11`, or a year. */
                period: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StatementView"];
                    "application/pdf": string;
                    "text/csv": string;
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_team`, `no_such_wallet`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    payments_list_top_ups: {
        parameters: {
            query?: {
                /** @description In this state alone. */
                state?: components["schemas"]["TopUpState"] | null;
                /** @description `-`: the newest first. */
                order?: "-created_at" | "created_at";
                /** @description Maximum number of items. */
                limit?: number;
                /** @description `next` of the page before. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TopUpList"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    payments_top_up: {
        parameters: {
            query?: {
                /** @description For this team, by handle or id; otherwise for yourself. */
                team?: string | null;
            };
            header?: {
                /** @description Makes the request repeatable: the same key and the same request are answered alike, once done. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TopUpRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TopUpView"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_team`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `idempotency_mismatch`, `no_payment_processor`, `no_saved_card`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            /** @description Invalid: `bad_amount`, `invalid`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            /** @description Not now: `processor_away`, `too_busy`, `too_many_connections`, `unavailable`. */
            503: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    payments_quote_top_up: {
        parameters: {
            query?: {
                /** @description So many credits, such as `100`. */
                credits?: string | null;
                /** @description So much of the pool's currency, such as `50.00`. */
                amount?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TopUpQuote"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Invalid: `bad_amount`, `invalid`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    payments_show_top_up: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the top-up. */
                top_up_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TopUpView"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_top_up`, `not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    vouchers_redeem: {
        parameters: {
            query?: {
                /** @description For this team, by handle or id; otherwise for yourself. */
                team?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Redeeming"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Redeemed"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            /** @description Not found: `money_off`, `no_such_team`, `no_such_voucher`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not in this state: `voucher_over`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            /** @description Too many requests: `too_many_failures`, `too_many_requests`, `too_many_tries`. */
            429: {
                headers: {
                    /** @description After how many seconds to try again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    health_healthz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HealthView"];
                };
            };
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    health_metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            401: components["responses"]["Error401"];
            /** @description Not allowed: `forbidden`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    health_readyz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HealthView"];
                };
            };
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
}
