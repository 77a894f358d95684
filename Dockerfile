# One image for the three services, the migrate job and the example's inventory; compose.yaml says which runs.
FROM python:3.13-slim AS build
WORKDIR /src
COPY constraints-uv.txt constraints.txt ./
RUN pip install --no-cache-dir --require-hashes -r constraints-uv.txt && python -m venv --without-pip /opt/venv
COPY pyproject.toml ./
COPY shared shared
COPY services services
# Only what the processes and the example import: neither the tools nor the embedded servers.
RUN uv pip install --python /opt/venv/bin/python --no-cache --compile-bytecode \
    --constraints constraints.txt --build-constraints constraints.txt \
    ./shared ./services/turn-runner ./services/outbox-relay ./services/receipt-reconciler httpx

FROM python:3.13-slim
RUN useradd --system --uid 10001 intention && install --directory --owner intention /var/lib/inventory
COPY --from=build /opt/venv /opt/venv
WORKDIR /app
COPY examples examples
ENV PATH=/opt/venv/bin:$PATH PYTHONPATH=/app PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER intention
CMD ["intention", "--help"]
