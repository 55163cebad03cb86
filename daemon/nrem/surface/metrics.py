"""What /metrics shows, in the form that Prometheus reads. No text of memories, and no agent's name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, SummaryMetricFamily

from nrem import __version__
from nrem.core import backup, embedder, jobs
from nrem.runtime.app import App
from nrem.wire import Changed, Recalled, Stored, StoredMany

FAST = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)


class Metrics:
    """Counts and times of one daemon."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._registry = CollectorRegistry()
        own = self._registry
        self._requests = Histogram(
            "nrem_http_request_duration_seconds",
            "Time to answer a request.",
            ["operation", "status"],
            buckets=FAST,
            registry=own,
        )
        self._recalls = Histogram(
            "nrem_recall_duration_seconds", "Time of a recall.", ["mode"], buckets=FAST, registry=own
        )
        self._writes = Counter("nrem_writes_total", "Writes to the store.", ["result"], registry=own)
        self._commits = Histogram(
            "nrem_write_commit_seconds",
            "Time of a group of writes, with its commit.",
            buckets=FAST,
            registry=own,
        )
        self._secrets = Counter(
            "nrem_secrets_blocked_total", "Texts in which a rule found a secret.", ["rule"], registry=own
        )
        self._reloads = Counter("nrem_config_reloads_total", "Reloads by SIGHUP.", ["result"], registry=own)
        self._registry.register(self)
        app.store.on_commit = self._committed

    def answered(self, operation: str, status: int, seconds: float) -> None:
        self._requests.labels(operation, str(status)).observe(seconds)

    def operated(self, result: Any, seconds: float) -> None:
        """Note what an operation gave."""
        if isinstance(result, Recalled):
            self._recalls.labels(result.mode).observe(seconds)
        for item in result.memories if isinstance(result, StoredMany) else (result,):
            if isinstance(item, Stored | Changed):
                for rule in item.redacted:
                    self._secrets.labels(rule).inc()

    def reloaded(self, *, well: bool) -> None:
        self._reloads.labels("ok" if well else "refused").inc()

    def text(self) -> bytes:
        return generate_latest(self._registry)

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily | SummaryMetricFamily]:
        """Give what is looked up when it is asked for."""
        build = GaugeMetricFamily("nrem_build_info", "The version that runs.", labels=["version"])
        build.add_metric([__version__], 1)
        yield build
        database, wal = self._app.store.sizes()
        yield GaugeMetricFamily("nrem_db_size_bytes", "Size of the database.", value=database)
        yield GaugeMetricFamily("nrem_wal_size_bytes", "Size of its write-ahead log.", value=wal)
        newest = max((made.made_at for made in backup.list_(self._app.home).backups), default=None)
        if newest is not None:
            yield GaugeMetricFamily(
                "nrem_last_backup_timestamp_seconds", "When the newest backup was made.", value=newest / 1000
            )
        calls = CounterMetricFamily(
            "nrem_provider_requests", "Calls of providers of models.", labels=["provider", "result"]
        )
        for (provider, result), count in self._app.provider_calls().items():
            calls.add_metric([provider, result], count)
        yield calls
        yield GaugeMetricFamily(
            "nrem_vectors_pending",
            "Memories that wait for their vector.",
            value=embedder.pending(self._app.store, self._app.embedder),
        )
        pending, late = jobs.waiting(self._app.store, now=self._app.clock.now())
        yield GaugeMetricFamily("nrem_jobs_pending", "Jobs that are not done yet.", value=pending)
        yield GaugeMetricFamily(
            "nrem_oldest_pending_job_seconds", "How long the first of them is due.", value=late
        )
        ended = CounterMetricFamily("nrem_jobs", "Jobs by how they ended.", labels=["kind", "result"])
        for (kind, result), count in dict(self._app.tally.results).items():
            ended.add_metric([kind, result], count)
        yield ended
        yield CounterMetricFamily(
            "nrem_lease_takeovers", "Jobs taken from whoever gave no sign.", value=self._app.tally.takeovers
        )
        sweeps = dict(self._app.tally.sweeps)
        swept = CounterMetricFamily("nrem_sweeps", "Sweeps by how they ended.", labels=["result"])
        for result, count in sweeps.items():
            swept.add_metric([result], count)
        yield swept
        yield SummaryMetricFamily(
            "nrem_sweep_duration_seconds",
            "Time of a sweep.",
            count_value=sum(sweeps.values()),
            sum_value=self._app.tally.sweep_seconds,
        )
        depth = GaugeMetricFamily("nrem_queue_depth", "What waits to be done.", labels=["queue"])
        depth.add_metric(["writes"], self._app.store.waiting())
        yield depth

    def _committed(self, seconds: float, good: int, bad: int) -> None:
        self._commits.observe(seconds)
        self._writes.labels("ok").inc(good)
        self._writes.labels("failed").inc(bad)
