"""Every limit of the product, with its name, its unit and its reason.

One rule: a limit stands here or nowhere. The shell reads these values and hands each room its own.
"""

import attrs


@attrs.frozen(kw_only=True)
class Limits:
    """Sizes, counts and times. Names end in their unit."""

    # -- what comes in
    message_bytes: int = 2_000_000
    """One owner message with its quotes, as JSON. A megabyte of emoji fits."""
    request_bytes: int = 4_000_000
    """Any other request body to the API."""
    unplaced_messages: int = 200
    """Messages that may wait in one conversation."""

    # -- runs
    turns: int = 50
    """Replies of one run before it is ended: a loop of calls that never comes to an answer."""
    calls_per_turn: int = 32
    """Tool uses of one reply that are carried out; the rest are answered with an error."""
    resumes: int = 3
    """Times a run is taken up again without getting on before it fails."""
    model_tries: int = 8
    """Times one turn is asked for before the run fails."""
    retry_first_seconds: float = 1.0
    """The first pause after a model error; it doubles from try to try."""
    retry_longest_seconds: float = 60.0
    """The longest such pause, unless the server asks for a longer one."""
    unauthorized_longest_seconds: float = 3_600.0
    """The longest pause while the model does not accept the key; new credentials end it at once."""
    conversations_side_by_side: int = 8
    """Conversations of one agent that are worked on at once, its home aside."""
    conversations_kept: int = 16
    """Transcripts of one agent that stay in memory between runs."""
    reply_tokens: int = 8_192
    """max_tokens of every request."""
    stop_seconds: float = 10.0
    """From SIGTERM to the end of the process."""

    # -- tools
    result_characters: int = 40_000
    """One tool result; what is longer is cut, and says so."""
    argument_bytes: int = 200_000
    """The arguments of one call, as JSON."""
    note_title_characters: int = 200
    note_characters: int = 30_000
    """One note: short enough that reading it is never cut."""
    search_results: int = 20
    """Hits of one search of notes or history."""
    search_shown: int = 50
    """Hits of one page when the owner searches."""
    quote_characters: int = 100_000
    """One quote or attachment of an owner message; what is longer is cut, and says so."""

    # -- workers
    task_characters: int = 20_000
    """One delegated task."""
    answer_characters: int = 20_000
    """What a worker answers, before it is framed; what is longer is cut, and says so."""
    worker_seconds: float = 3_600.0
    """How long a worker may take, from the call that delegates to its answer."""
    delegated_per_act: int = 12
    """Workers set to work and messages to other agents that follow from one message of the owner, or one slot."""
    workers_side_by_side: int = 8
    """Workers that work at once; more wait for their turn."""

    # -- agents
    agents: int = 100
    """Agents that are not retired."""
    agent_job_characters: int = 300
    """What an agent is for, in a line that the others read too."""
    instructions_characters: int = 20_000
    """An agent's standing instructions, which are part of each of its requests."""
    hops: int = 3
    """Messages from agent to agent, one because of the other, before the next is refused."""
    asks_side_by_side: int = 64
    """Messages of one hop count that are worked on at once: so many, since one of them may wait a week for the owner.
    Each hop count has its own places, so nobody waits for a place that is held by who waits for him."""
    message_seconds: float = 8 * 86_400.0
    """How long an agent may take to answer another: the owner's answer to a question may take a week of it."""
    exchanges_shown: int = 5
    """Earlier exchanges with the sender that an agent is shown with a message."""
    exchange_characters: int = 4_000
    """Each of the two sides of such an exchange; what is longer is cut, and says so."""

    # -- the sandbox, for each task
    sandbox_memory_bytes: int = 1 << 30
    """What a command's processes may use together."""
    sandbox_processes: int = 256
    """Processes and threads of a command at one time."""
    sandbox_disk_bytes: int = 1 << 30
    """What the task's folder may hold."""
    sandbox_files: int = 100_000
    """Files and folders in it."""
    sandbox_seconds: float = 600.0
    """How long a command may take."""
    sandbox_output_bytes: int = 100_000
    """What is kept of what a command prints."""
    sandbox_connections: int = 64
    """Connections of a command to the internet at one time."""
    connect_seconds: float = 15.0
    """How long looking up a name, or connecting to an address, may take."""

    # -- the web
    page_characters: int = 40_000
    """What one fetch gives of a page's text; it says how to read on."""
    page_bytes: int = 5_000_000
    """What is read of a page, unpacked; what follows is left, and that is said."""
    page_wire_bytes: int = 5_000_000
    """What is taken in for a page, as it comes."""
    page_head_bytes: int = 65_536
    """The status and headers of an answer, with all that comes before them."""
    page_redirects: int = 5
    """Redirects that are followed, each judged anew."""
    fetch_seconds: float = 15.0
    """One deadline for all of a fetch: looking up, connecting, redirects, taking in, reading."""
    pages_at_once: int = 3
    """Pages that are made text of at one time; more wait, within their deadline."""
    reader_seconds: int = 6
    """What a process that makes text of a page may compute, and take."""
    reader_memory_bytes: int = 120_000_000
    """What it may hold beside its programs: with these it stays below 150 MB."""
    search_seconds: float = 60.0
    """How long one search of the web may take."""
    search_tokens: int = 2_048
    """max_tokens of such a search: a few lines on what was found."""
    search_query_characters: int = 400
    """One query. Longer ones find nothing."""

    # -- questions
    question_seconds: float = 7 * 86_400.0
    """How long the owner may take to answer. Later means no."""
    question_again_seconds: float = 86_400.0
    """So long before it expires he is told of it a second time."""
    questions_open: int = 20
    """Open questions of one agent: past that nothing more is asked."""
    refusals: int = 2
    """Acts of one run that the owner refuses before its exits close."""
    question_characters: int = 2_000
    """A question that an agent puts itself, and the owner's answer to it."""
    option_characters: int = 200
    """One option of such a question."""

    # -- reminders and jobs
    reminder_characters: int = 4_000
    """The text of one reminder."""
    job_title_characters: int = 100
    job_characters: int = 20_000
    """The prompt of one job."""
    pending_things: int = 10_000
    """Reminders, or jobs, of one agent that are not over."""
    reports_shown: int = 5
    """Earlier reports of a job that its next run is shown."""
    report_characters: int = 10_000
    """One report of a job, as it is kept and shown; what is longer is cut, and says so."""
    late_seconds: float = 60.0
    """What comes up later than this is told to be late. Less is not worth a word."""
    due_at_once: int = 10
    """Due reminders and jobs that the scheduler reads at a time."""
    slots_at_once: int = 1_000
    """Missed slots of one reminder or job that one commit gives their fate."""

    # -- the phone
    push_tries: int = 5
    """Times one push is tried before it is given up."""
    push_retry_seconds: float = 10.0
    """The pause after the first try; each later one is four times as long, unless the service asks for a longer one."""
    push_longest_seconds: float = 86_400.0
    """A push that could be tried again only later than this is given up: nobody is helped by it then."""
    push_seconds: float = 15.0
    """How long one try may take."""
    pushes_at_once: int = 8
    """Pushes that are tried side by side."""
    button_days: float = 7.0
    """How long the buttons of a reminder work."""

    # -- the model
    prompt_tokens: int = 200_000
    """What the platform's gateway admits as input."""
    bytes_per_token: int = 3
    """So many bytes of a request count as one token. English has more to a token, Chinese and Russian about as many."""
    compact_at_tokens: int = 150_000
    """A conversation that has become longer is summed up before the model is asked again."""
    recent_tokens: int = 20_000
    """So much of its end stays as it is then."""
    words_tokens: int = 10_000
    """So much of what was said to the agent before that stays word for word."""
    summary_tokens: int = 4_096
    """max_tokens of a request for a summary."""
    summary_characters: int = 40_000
    """One summary; what is longer is cut, and says so."""
    silence_seconds: float = 60.0
    """A stream that says nothing for so long is cut and counts as lost."""

    # -- storage
    lease_seconds: float = 60.0
    """How long a holder may be silent before another may take its place."""
    renew_seconds: float = 20.0
    """How often the lease is renewed while there is work or a visitor."""
    look_seconds: float = 2.0
    """How often an instance that another one keeps out looks at most whether the lease was given up."""
    lease_margin_seconds: float = 10.0
    """Effects that must not be repeated start only while so much of the lease is left."""
    visitor_seconds: float = 300.0
    """How long after a published request the lease is kept up: the platform sleeps after five idle minutes."""
    reach_seconds: float = 30.0
    """How long one operation may take, reconnecting included."""
    statement_seconds: float = 8.0
    """How long a statement of a transaction may take."""
    idle_seconds: float = 8.5
    """How long the database lets a paused process hold a transaction open between two statements."""
    transaction_seconds: float = 8.5
    """How long a transaction may take: a paused process, wherever it stopped, keeps nobody waiting for longer. Whoever
    takes over is at work within ten seconds then."""
    silent_seconds: float = 14.0
    """A database that says nothing for so long is gone: longer than those three, and half of the bound."""
    ask_seconds: float = 60.0
    """How long a caller waits for the storage, queueing included."""

    words_behind_entries: int = 500
    """Entries whose words are entered into the index of searches at once, when so many have come."""
    pruned_at_once: int = 500
    """Rows of one table that one commit of retention lets go of."""

    # -- mailboxes
    mailbox_messages: int = 256
    """Messages that may wait for one actor; doorbells don't count."""

    # -- doors
    heartbeat_seconds: float = 15.0
    """Between two signs of life of a live stream."""
    page_entries: int = 200
    """Entries, runs or notes of one page of a list."""
    opening_seconds: float = 15.0
    """How long a request waits for the storage to be opened; a platform gives one up that has no answer after 20 s."""
    wake_seconds: float = 1.5
    """How long whoever wakes it waits for what was found; what was begun goes on without him."""
    streams: int = 50
    """Live streams open at once."""


@attrs.frozen(kw_only=True)
class Fixed:
    """What bounds the HTTP server itself, whoever runs it."""

    body_seconds: float = 120.0
    """How long a client may take to send a body."""
    hear_out_bytes: int = 16_000_000
    """How much of a body that nobody wants is read away before the answer is sent."""
    hear_out_seconds: float = 10.0
    """How long that is read at most."""
    storage_retry_seconds: float = 2.0
    """After an error of the storage it is opened anew, which takes about so long."""
    quotes: int = 50
    """Quotes of one message: each becomes an entry of its own."""
    token_file_bytes: int = 4096
    """A file that holds the token; what is longer is none."""
    answer_to_question_characters: int = 2_000
    """What the owner answers to a question, before it is judged."""
    page_asked_entries: int = 1_000
    """What may be asked for; the limit of a page may be lower."""
    changes: int = 5
    """How often a change is tried against something that moves on meanwhile."""
    upcoming: int = 100
    """Slots to come of one reminder or job that may be asked for."""
    change_rows: int = 100
    """Rows of a kind in one change; more come in the next one."""
    at_characters: int = 200
    """How much is shown of what a worker is at."""
    hit_characters: int = 400
    """How much is shown of what a search found."""
    opening_characters: int = 160
    """How much is shown of what opened a run: a line."""
    connections: int = 500
    """Connections at once; one more is closed as it comes."""
    head_bytes: int = 32_768
    """The request line and the headers."""
    idle_connection_seconds: float = 60.0
    """How long a connection is kept for another request."""
    stall_seconds: float = 60.0
    """A client that takes nothing for so long has gone."""
    send_bytes: int = 65_536
    """So many bytes it has to take in that time."""


FIXED = Fixed()
