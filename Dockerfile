# syntax=docker/dockerfile:1
# The image of hami-dra-webhook.
#
#   docker build --tag hami-dra-webhook .
#
# BASE needs Python >= 3.11 as `python3`, with venv and pip. Both stages use it, so that the virtual environment fits; the
# release pins it by digest. Behind a proxy or a mirror, hand over pip's configuration and the CA bundle as build secrets:
#
#   docker build --secret id=pip.conf,src=/etc/pip.conf --secret id=ca.crt,src=/etc/ssl/certs/ca-certificates.crt .

ARG BASE=python:3.13-slim-bookworm

FROM ${BASE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
COPY requirements.lock requirements-build.lock ./
# The environment gets no pip of its own; that of the base installs into it.
RUN --mount=type=secret,id=pip.conf,target=/etc/pip.conf --mount=type=secret,id=ca.crt,target=/run/ca.crt \
    if [ -s /run/ca.crt ]; then export PIP_CERT=/run/ca.crt; fi \
 && python3 -m venv --without-pip /opt/hami-dra-webhook \
 && python3 -m venv /opt/build \
 && python3 -m pip --python /opt/hami-dra-webhook/bin/python install --no-compile --require-hashes -r requirements.lock \
 && /opt/build/bin/pip install --require-hashes -r requirements-build.lock
COPY pyproject.toml README.md LICENSE CHANGELOG.md ./
COPY app app
COPY certs certs
# Nothing is fetched here. The bytecode is checked by its source's hash, never by time stamps, so that builds repeat.
RUN /opt/build/bin/pip wheel --no-index --no-deps --no-build-isolation --wheel-dir /dist . \
 && python3 -m pip --python /opt/hami-dra-webhook/bin/python install --no-compile --no-index --no-deps /dist/*.whl \
 && find /opt/hami-dra-webhook -depth -type d \( -name tests -o -name test \) -exec rm -rf {} + \
 && python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/hami-dra-webhook/lib

FROM ${BASE}
ARG VERSION=0.0.0
ARG REVISION=unknown
ARG CREATED=1970-01-01T00:00:00Z
LABEL org.opencontainers.image.title="hami-dra-webhook" \
      org.opencontainers.image.description="Lets manifests written for legacy GPU resources run on Dynamic Resource Allocation, unchanged" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"
# What installs Python packages or compiles is of no use to a server, and of much use to whoever gets into it.
RUN set -eu; \
    for package in python3-pip python3-venv python3-setuptools python3-wheel python3-dev gcc g++ make; do \
      if command -v dpkg >/dev/null && dpkg -s "$package" >/dev/null 2>&1; then dpkg --purge --force-depends "$package"; fi; \
    done; \
    prefixes=$(python3 -c 'import site, sysconfig; print(sysconfig.get_path("stdlib"), *site.getsitepackages())'); \
    for prefix in $prefixes; do \
      rm -rf "$prefix/ensurepip" "$prefix/idlelib" "$prefix/test" "$prefix/lib2to3/tests" \
             "$prefix"/pip "$prefix"/pip-* "$prefix"/setuptools "$prefix"/setuptools-* "$prefix"/wheel "$prefix"/wheel-* \
             "$prefix"/pkg_resources "$prefix"/_distutils_hack; \
    done; \
    find / -xdev \( -name 'pip' -o -name 'pip3*' -o -name '*.whl' \) \( -type f -o -type l \) -delete; \
    rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/* /usr/share/doc/* /usr/share/man/* /root/.cache
COPY --from=build /opt/hami-dra-webhook /opt/hami-dra-webhook
ENV PATH=/opt/hami-dra-webhook/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
# Of nobody in the base; the same as in distroless images. A number, so that kubelets can see that it is not root.
USER 65532:65532
WORKDIR /tmp
EXPOSE 10250 8080
ENTRYPOINT ["hami-dra-webhook"]
CMD ["serve"]
