# Two stages: the program is built with Go's own image and runs, as nobody in particular, in an image with nothing else.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /ttlproxy ./cmd/ttlproxy && \
    install -d -o 65532 -g 65532 -m 700 /state

FROM scratch
# The authorities by which a backend's certificate may be verified.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /ttlproxy /ttlproxy
# Mount something that stays here, so that an old copy of the server is noticed after a restart of the container, too.
COPY --from=build --chown=65532:65532 /state /var/lib/ttlproxy
ENV TTLPROXY_STATE_DIR=/var/lib/ttlproxy
VOLUME /var/lib/ttlproxy
USER 65532:65532
# Clients, and the status page with metrics and health checks (`ttlproxy ready` asks).
EXPOSE 4000 4080
ENTRYPOINT ["/ttlproxy"]
CMD ["serve"]
