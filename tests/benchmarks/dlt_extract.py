"""The same payments by dlt's rest_api source, into Parquet; prints rows and seconds as JSON.

    python dlt_extract.py BASE_URL KEY FOLDER

Run by `extract_benchmark.py --dlt`, in an environment of its own: dlt is no dependency.
"""

import json
import os
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq

os.environ["RUNTIME__DLTHUB_TELEMETRY"] = "false"
os.environ["RUNTIME__LOG_LEVEL"] = "ERROR"


def main(base_url: str, key: str, folder: str) -> None:
    """Load all payments once, with the pages the service gives at most."""
    import dlt
    from dlt.sources.rest_api import rest_api_source

    paginator = {"type": "cursor", "cursor_path": "next_cursor", "cursor_param": "cursor"}
    endpoint = {"path": "payments", "params": {"limit": 100}, "data_selector": "data"}
    source = rest_api_source(
        {
            "client": {
                "base_url": f"{base_url}/api/pay/v1/",
                "auth": {"type": "bearer", "token": key},
                "paginator": paginator,
            },
            "resources": [{"name": "payments", "endpoint": endpoint}],
        }
    )
    pipeline = dlt.pipeline(
        "benchmark",
        pipelines_dir=f"{folder}/work",
        destination=dlt.destinations.filesystem(bucket_url=Path(folder, "lake").as_uri()),
        dataset_name="shop",
    )
    began, worked = time.perf_counter(), sum(os.times()[:4])  # its helpers' work included
    pipeline.run(source, loader_file_format="parquet")
    took, cpu = time.perf_counter() - began, sum(os.times()[:4]) - worked
    files = Path(folder, "lake", "shop", "payments").glob("*.parquet")
    rows = sum(pq.read_metadata(file).num_rows for file in files)
    sys.stdout.write(json.dumps({"rows": rows, "seconds": took, "cpu": cpu}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
