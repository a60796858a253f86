// Spring's JdbcTemplate on a data source with the page's properties.
import java.io.FileReader;
import java.util.Properties;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

public final class Spring {
    public static void main(String[] args) throws Exception {
        Properties p = new Properties();
        p.load(new FileReader("application.properties"));
        JdbcTemplate jdbcTemplate = new JdbcTemplate(new DriverManagerDataSource(
            p.getProperty("spring.datasource.url"), p.getProperty("spring.datasource.username"), p.getProperty("spring.datasource.password")));
        jdbcTemplate.execute("CREATE TABLE session (id BIGINT PRIMARY KEY, seen_at DATETIME)");
        // the page's statement
    }
}
