# Two stages: the program is built with Go's own image and runs, as nobody in particular, in an image with nothing else.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -o /ttlproxy ./cmd/ttlproxy

FROM scratch
# The authorities by which a backend's certificate may be verified.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /ttlproxy /ttlproxy
USER 65532:65532
# Clients, and the status page with metrics and health checks.
EXPOSE 4000 4080
ENTRYPOINT ["/ttlproxy"]
CMD ["serve"]
