// Fetches a URL with Node's own fetch.
try {
        const response = await fetch(process.argv[2]);
        process.stdout.write(await response.text());
} catch (error) {
        console.error(`${error.message}: ${error.cause?.code}`);
        process.exit(1);
}
